"""What a compaction and a summary say of themselves, and what a session comes to."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold import (
    CompactionRecord,
    CompactionResult,
    Function,
    Policy,
    Price,
    SummaryReply,
    Transcript,
    compact,
    compact_sync,
    plan,
    presets,
    stats,
)
from turnfold.errors import ArgumentError
from turnfold.model.judgement import ReplyPolicy
from turnfold.model.plan import CompactionPlan, SummaryHole
from turnfold.model.state import PlanState
from turnfold.model.summary import SummaryRecord, SummaryRequest, Usage
from turnfold.planning.wrapper import WrappedSummary, recognise, wrap
from turnfold.testing.generators import BY_FORMAT

Json = dict[str, object]
PROSE = "The build failed again and nobody knows why, so we looked at every line of the log. "
RECAP = "## Conversation Summary\n## Facts\n- docs/plan-3.md was read."


def talk(turns: int) -> list[Json]:
    roles = ("user", "assistant")
    said: list[Json] = [
        {"role": roles[k % 2], "content": f"Point {k} of docs/plan-{k}.md. {PROSE * 4}"} for k in range(2 * turns)
    ]
    return [{"role": "system", "content": "Be careful."}, *said, {"role": "user", "content": "Go on."}]


def chat(messages: list[Json]) -> Transcript:
    return Transcript.from_messages(messages, format="openai.chat")


def done(
    transcript: Transcript, policy: Policy, answer: str | None = None, now: datetime | None = None
) -> CompactionResult:
    async def write(request: SummaryRequest) -> SummaryReply:
        return SummaryReply(str(answer), Usage(100, 20, 30, 10, 5))

    asked = None if answer is None else Function(write)
    result = asyncio.run(compact(transcript, policy, asked, state=PlanState(requested=True, now=now)))
    assert isinstance(result, CompactionResult), result
    return result


def test_the_record_of_an_eviction() -> None:
    transcript = chat(talk(10))
    result = done(transcript, presets.evicted_turns(1, 3, limit_tokens=10**6, fraction=None), RECAP)
    record = result.record
    assert (record.strategy, record.method, record.fallback) == ("evicted_turns", "function", False)
    assert (record.tokens_before, record.tokens_after) == (result.before.n, result.after.n)
    assert (record.original_messages, record.new_messages) == (22, len(result.transcript))
    assert record.old_messages == 22 - len(result.transcript) + 1
    assert (record.keep, record.keep_unit) == (3, "turns")
    assert (record.role, record.desired_role) == ("assistant", "assistant")
    assert record.covers is not None
    assert record.covers.turns == (2, 8)
    assert (record.kept_ids, record.lost_ids) == (result.identifiers.kept, result.identifiers.lost)
    assert "docs/plan-3.md" in record.kept_ids
    assert record.summary_length == len(str(record.summary)) > 0
    assert (record.usage.total_tokens, record.usage.reasoning_tokens) == (120, 5)
    assert msgspec.json.decode(msgspec.json.encode(record), type=CompactionRecord) == record


def test_a_summary_that_somebody_else_had_to_write_is_a_fallback() -> None:
    result = done(chat(talk(10)), presets.evicted_turns(1, 3, limit_tokens=10**6, fraction=None), "No heading.")
    assert (result.record.method, result.record.fallback) == ("rules", True)
    by_rule = done(chat(talk(10)), presets.evicted_turns(1, 3, limit_tokens=10**6, fraction=None))
    assert (by_rule.record.method, by_rule.record.fallback) == ("rules", False)


def test_where_the_tail_alone_would_cut_and_where_it_was_cut() -> None:
    messages = talk(4)[:-1]
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": PROSE},
        {"role": "assistant", "content": PROSE},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": PROSE},
    ]
    record = done(chat(messages), presets.token_threshold(None, 10**6, keep_messages=4)).record
    assert (record.keep, record.keep_unit, record.desired_split, record.safe_split) == (4, "messages", 10, 9)
    assert (record.old_messages, record.recent_messages) == (8, 5)
    assert record.desired_role == record.role == "user"


def test_a_role_that_the_provider_does_not_take_there_is_said() -> None:
    body = msgspec.json.encode(BY_FORMAT["gemini.contents"](2, turns=9, result_words=60))
    transcript = Transcript.from_json(body, format="gemini.contents")
    record = done(transcript, presets.evicted_turns(0, 2, limit_tokens=10**6, fraction=None)).record
    assert (record.desired_role, record.role) == ("assistant", "user")


def test_a_compaction_without_a_summary_has_a_record_too() -> None:
    body = msgspec.json.encode(BY_FORMAT["openai.chat"](5, turns=12, result_words=200))
    transcript = Transcript.from_json(body)
    policy = presets.observation_mask(2, fraction=None, limit_tokens=int(transcript.tokens().n * 0.8))
    result = compact_sync(transcript, policy)
    assert isinstance(result, CompactionResult)
    record = result.record
    assert (record.method, record.summary, record.covers, record.keep, record.old_messages) == (
        None,
        None,
        None,
        None,
        0,
    )
    assert record.recent_messages == record.original_messages == record.new_messages


def test_a_summary_says_when_it_was_made_and_which_version_it_is() -> None:
    policy = presets.turn_window(2, 1)
    first = done(chat(talk(6)), policy, now=datetime(2026, 1, 31, 10, 0, 0, 999, timezone(timedelta(hours=1))))
    made = "2026-01-31T09:00:00Z"
    assert first.record.covers == SummaryRecord(12, (1, 6), 1, made, made)
    said = f'<turnfold-summary created="{made}" updated="{made}">\nReplaces 12 earlier messages, turns 1-6. '
    assert str(first.summary).startswith(said)
    longer = chat([*map(dict, first.messages), *talk(5)[2:]])
    second = done(longer, policy, now=datetime(2026, 2, 1, tzinfo=UTC))
    covers = second.record.covers
    assert covers is not None
    assert (covers.version, covers.created, covers.updated) == (2, made, "2026-02-01T00:00:00Z")
    assert covers.turns == (1, 11)
    # Carried out by another process, at another time, it says the same.
    found = plan(longer, policy, state=PlanState(requested=True, now=datetime(2026, 2, 1, tzinfo=UTC)))
    assert isinstance(found, CompactionPlan)
    stored = msgspec.json.decode(msgspec.json.encode(found), type=CompactionPlan)
    assert [tile.record for tile in stored.tiles if isinstance(tile, SummaryHole)] == [covers]


def test_a_clock_has_a_zone() -> None:
    with pytest.raises(ArgumentError, match="time zone"):
        PlanState(now=datetime(2026, 1, 1))  # noqa: DTZ001  # the point


@given(
    st.builds(
        SummaryRecord,
        st.integers(0, 10**8),
        st.none() | st.tuples(st.integers(1, 10**8), st.integers(1, 10**8)),
        st.integers(1, 10**8),
        st.none() | st.just("2026-01-31T09:00:00Z"),
        st.none() | st.just("2026-02-01T00:00:00Z"),
    )
)
def test_what_a_summary_says_of_itself_reads_back(record: SummaryRecord) -> None:
    said = WrappedSummary(record.messages, "Task.", "Body.", None, *msgspec.structs.astuple(record)[1:])
    assert recognise(wrap(said)) == said
    assert said.record == record


def test_the_price_of_a_session() -> None:
    result = done(chat(talk(10)), presets.turn_window(2, 1), "- Point 3 was made.")
    price = Price(10.0, 50.0, cache_read_per_million=1.0)
    session = stats(result.transcript, [result], price=price)
    assert session.cost == pytest.approx((70 * 10 + 30 * 1 + 20 * 50) / 1_000_000)
    assert (session.turns, session.summaries, session.compactions) == (11, 1, 1)
    assert stats(chat(talk(3))).compression == 0


def test_the_state_of_version_control_has_a_key_of_its_own() -> None:
    messages: list[Json] = [{"role": "user", "content": "Commit it."}]
    for k, command in enumerate(("git status", "cd src && git commit -m 'Fix the parser'", "pytest -q")):
        function = {"name": "bash", "arguments": msgspec.json.encode({"command": command}).decode()}
        call = {"id": f"c{k}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{k}", "content": f"On branch main.\n{PROSE * 3}"})
    messages += [{"role": "assistant", "content": "Committed."}, {"role": "user", "content": "And now?"}]
    summary = str(done(chat(messages), presets.turn_window(1, 0)).summary)
    status = summary.partition("## VERSION_CONTROL_STATUS\n")[2].partition("\n##")[0]
    assert "git status" in status
    assert "git commit" in status
    assert "pytest" not in status


def test_what_only_the_kept_tail_still_names() -> None:
    named = f"Read docs/plan-0.md, src/gone.py and src/used.py. {PROSE * 4}"
    said = talk(4)
    said[3]["content"], said[-1]["content"] = named, "Go on with src/used.py."
    policy = presets.token_threshold(limit_tokens=100, fraction=None, keep_messages=1)

    def found(reply: str) -> CompactionResult:
        async def write(_: SummaryRequest) -> SummaryReply:
            return SummaryReply(reply)

        as_it_is = Function(write, policy=ReplyPolicy(lost_identifiers="use"))
        result = asyncio.run(compact(chat(said), policy, as_it_is, state=PlanState(requested=True)))
        assert isinstance(result, CompactionResult), result
        assert result.method == "function"
        return result

    result = found("It failed, and docs/plan-0.md was read.")
    assert result.identifiers.referenced_later == result.record.referenced_later == ("src/used.py",)
    assert "src/used.py" in result.identifiers.kept
    assert "src/gone.py" in result.identifiers.lost
    assert found("It failed in src/used.py.").identifiers.referenced_later == ()
