"""Two plans compared, hashed, and what a plan says of the prompt cache."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import OnRequest, Policy, Skip, Transcript, TruncateResults, compact_sync, diff_plans, plan, presets
from turnfold.errors import PlanMismatchError
from turnfold.model.difference import FateChange, SettingChange
from turnfold.model.plan import CompactionPlan, SummaryHole
from turnfold.planning.apply import CompactionResult
from turnfold.testing.generators import BY_FORMAT


def made(format: str = "openai.chat", seed: int = 3, turns: int = 10) -> Transcript:
    return Transcript.from_json(msgspec.json.encode(BY_FORMAT[format](seed, turns=turns, result_words=120)))


def planned(transcript: Transcript, share: float, keep: int = 4) -> CompactionPlan:
    limit = int(transcript.tokens(encoding="o200k_base").n * share)
    found = plan(transcript, presets.token_threshold(None, limit, keep), encoding="o200k_base")
    assert isinstance(found, CompactionPlan), found
    return found


def test_a_plan_differs_from_itself_in_nothing() -> None:
    found = planned(made(), 0.8)
    assert diff_plans(found, found).same
    again = planned(made(), 0.8)
    assert again.digest == found.digest
    stored = msgspec.json.decode(msgspec.json.encode(found), type=CompactionPlan)
    assert stored.digest == found.digest
    assert msgspec.structs.replace(found, source="other").digest != found.digest


def test_what_another_tail_changes() -> None:
    transcript = made()
    first, second = planned(transcript, 0.8, 4), planned(transcript, 0.8, 12)
    difference = diff_plans(first, second)
    assert not difference.same
    (change,) = difference.fates
    assert (change.first, change.second) == ("summarized", "kept")
    stops = [next(tile.stop for tile in one.tiles if isinstance(tile, SummaryHole)) for one in (second, first)]
    assert [change.start, change.stop] == stops
    assert "tokens_at_most" in {setting.name for setting in difference.settings}
    back = diff_plans(second, first)
    assert back.fates == tuple(FateChange(c.start, c.stop, c.second, c.first) for c in difference.fates)
    assert back.settings == tuple(SettingChange(c.name, c.second, c.first) for c in difference.settings)


def test_a_skip_keeps_every_message() -> None:
    transcript = made()
    skip = plan(transcript, presets.token_threshold(None, 10**6))
    assert isinstance(skip, Skip)
    found = planned(transcript, 0.8)
    difference = diff_plans(skip, found)
    assert all(change.first == "kept" for change in difference.fates)
    assert difference.settings[0] == SettingChange("outcome", '"under_trigger"', '"plan"')
    assert diff_plans(skip, skip).same


def test_another_cut_of_a_kept_result_is_a_change() -> None:
    transcript = made()
    policies = [Policy(OnRequest(), (TruncateResults(size, size),)) for size in (20, 40)]
    first, second = (plan(transcript, policy) for policy in policies)
    fates = diff_plans(first, second).fates
    assert fates
    assert {(change.first, change.second) for change in fates} == {("edited", "edited")}


def test_plans_of_two_transcripts_are_not_compared() -> None:
    with pytest.raises(PlanMismatchError, match="two transcripts"):
        diff_plans(planned(made(), 0.8), planned(made(seed=4), 0.8))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(BY_FORMAT)),
    st.sampled_from(sorted(set(presets.BY_NAME) - {"provider_compaction", "turn_window", "tool_batch"})),
    st.integers(0, 1_000),
)
def test_the_plan_says_how_much_of_the_cache_stays(format: str, name: str, seed: int) -> None:
    transcript = made(format, seed)
    limit = int(transcript.tokens(encoding="o200k_base").n * 0.7)
    policy = presets.BY_NAME[name](fraction=None, limit_tokens=limit)
    result = compact_sync(transcript, policy, encoding="o200k_base")
    if not isinstance(result, CompactionResult):
        return
    said = result.plan.prefix
    assert said is not None
    assert said.messages <= result.prefix.messages
    assert said.bytes <= result.prefix.bytes
    assert said.tokens <= result.prefix.tokens
    assert said.messages == result.prefix.messages or result.plan.tiles[0].stop == said.messages
