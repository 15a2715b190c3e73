"""What each step does to one conversation, and the outcome where nothing can be done."""

import json

import pytest

from turnfold import CompactionResult, Skip, Transcript, compact_sync, plan
from turnfold.errors import ArgumentError
from turnfold.model.plan import CompactionPlan, DropRange, EditBlocks, KeepRange, SummaryHole
from turnfold.model.policy import (
    DedupeResults,
    Drop,
    MaskResults,
    OnRequest,
    Policy,
    Step,
    Summarize,
    TokensOver,
    TruncateResults,
)
from turnfold.model.selection import (
    KeepMessages,
    KeepTokens,
    KeepToolGroups,
    KeepTurns,
    PinIndex,
    PinPredicate,
    PinText,
    Scope,
)
from turnfold.planning.predicates import register_predicate

Json = dict[str, object]
PROSE = "The build failed again and nobody knows why, so we looked at every line of the log. "


def said(role: str, text: str) -> Json:
    return {"role": role, "content": text}


def called(call_id: str, name: str, arguments: Json, result: str) -> list[Json]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": result},
    ]


READ: Json = {"path": "src/a.py"}
WORK: list[Json] = [
    said("system", "Be careful."),
    said("user", "You must keep the API. " + PROSE * 3),
    *called("c1", "read_file", READ, "first " * 90),
    *called("c2", "bash", {"command": "pytest -q"}, "passed " * 90),
    *called("c3", "read_file", READ, "second " * 90),
    *called("c4", "bash", {"command": "pytest -q"}, "passed " * 90),
    said("assistant", "Both ran. " + PROSE),
    said("user", "Now tidy up."),
]
"""Messages 0 to 11: reads at 2 and 6, runs at 4 and 8."""


def chat(messages: list[Json]) -> Transcript:
    return Transcript.from_messages(messages, format="openai.chat")


def forced(*steps: Step) -> Policy:
    return Policy(OnRequest(), steps)


def compacted(policy: Policy, messages: list[Json] = WORK) -> CompactionResult:
    result = compact_sync(chat(messages), policy)
    assert isinstance(result, CompactionResult), result
    return result


def skipped(policy: Policy, messages: list[Json] = WORK) -> Skip:
    found = plan(chat(messages), policy)
    assert isinstance(found, Skip), found
    return found


def texts(result: CompactionResult) -> list[str]:
    return [str(message["content"]) for message in result.messages]


def test_old_results_become_one_line_each_that_names_the_tool() -> None:
    result = compacted(forced(MaskResults(KeepToolGroups(2))))
    assert texts(result)[3] == "[Old output of read_file: 91 tokens left out]"
    assert texts(result)[5] == "[Old output of bash: 91 tokens left out]"
    assert texts(result)[7] == "second " * 90
    assert result.messages[2] is WORK[2], "the call stays as it was"


def test_masks_stop_at_the_target_and_a_low_watermark_goes_on() -> None:
    limit = chat(WORK).tokens().n - 50
    one = compacted(Policy(TokensOver(limit), (MaskResults(KeepToolGroups(0)),)))
    assert [tile.start for tile in one.plan.tiles if isinstance(tile, EditBlocks)] == [3, 5]
    low = compacted(Policy(TokensOver(limit), (MaskResults(KeepToolGroups(0)),), target_share=0.6))
    assert [tile.start for tile in low.plan.tiles if isinstance(tile, EditBlocks)] == [3, 5, 7, 9]
    # What cannot come down to the watermark but is under the limit is a compaction all the same.
    least = compacted(Policy(TokensOver(limit), (MaskResults(KeepToolGroups(0)),), target_share=0.1))
    assert least.plan.target_tokens == limit
    assert least.after.n > 0.1 * limit


def test_a_grid_moves_the_mask_in_strides() -> None:
    masked = []
    for count in range(1, 13):
        messages = [m for k in range(count) for m in called(f"c{k}", "bash", {"n": k}, "row " * 80)]
        outcome = compact_sync(chat([said("user", "Go."), *messages]), forced(MaskResults(KeepToolGroups(2), grid=8)))
        tiles = outcome.plan.tiles if isinstance(outcome, CompactionResult) else ()
        masked.append(sum(isinstance(tile, EditBlocks) for tile in tiles))
    assert masked == [0, 0, 0, 0, 0, 3, 3, 3, 3, 7, 7, 7]


def test_repeated_and_outdated_results_go_where_a_later_one_stands() -> None:
    result = compacted(forced(DedupeResults()))
    assert texts(result)[3] == "[Outdated output of read_file: 91 tokens left out]"
    assert texts(result)[5] == "[Repeated output of bash: 91 tokens left out]"
    assert texts(result)[7:10] == ["second " * 90, "None", "passed " * 90]
    only = compacted(forced(DedupeResults(superseded=False)))
    assert texts(only)[3] == "first " * 90


def test_another_part_of_a_file_is_no_newer_reading() -> None:
    part: Json = {"path": "src/a.py", "offset": 200}
    messages = [said("user", "Read."), *called("c1", "read_file", READ, "a " * 90)]
    messages += called("c2", "read_file", part, "b " * 90)
    assert skipped(forced(DedupeResults()), [*messages, said("user", "Go.")]).reason == "nothing_to_compact"


@pytest.mark.parametrize(
    ("side", "start", "end"),
    [("head", "first first", "[... cut]"), ("tail", "[... cut]", "first first "), ("both", "first", "first ")],
)
def test_either_end_of_a_result_can_stay(side: object, start: str, end: str) -> None:
    step = TruncateResults(30, 30, side=side, keep=KeepToolGroups(3))  # type: ignore[arg-type]
    text = texts(compacted(forced(step)))[3]
    assert text.startswith(start)
    assert text.endswith(end)
    assert len(text.split()) < 40


def test_excluded_tools_and_pins_stay() -> None:
    step = MaskResults(KeepToolGroups(0), Scope(exclude_tools=("read_file",), pins=(PinIndex(-3),)))
    assert [t.start for t in compacted(forced(step)).plan.tiles if isinstance(t, EditBlocks)] == [5]
    step = MaskResults(KeepToolGroups(0), Scope(pins=(PinText("second"),)))
    assert [t.start for t in compacted(forced(step)).plan.tiles if isinstance(t, EditBlocks)] == [3, 5, 9]


def test_a_head_stays_and_the_summary_follows_it() -> None:
    step = Summarize(KeepMessages(2), max_tokens=150, scope=Scope(head=KeepTurns(1)))
    messages = [WORK[0], said("user", "Hello."), said("assistant", "Hello."), *WORK[1:]]
    result = compacted(forced(step), messages)
    assert result.plan.tiles[0] == KeepRange(0, 3)
    assert result.messages[:3] == messages[:3]
    assert texts(result)[3].startswith("<turnfold-summary")
    more = chat(
        [*map(dict, result.messages), said("assistant", PROSE * 8), said("user", "More."), said("assistant", PROSE * 8)]
    )
    again = compact_sync(more, forced(step))
    assert isinstance(again, CompactionResult)
    assert sum("<turnfold-summary" in text for text in texts(again)) == 1, "folded in, never stacked"
    assert again.messages[:3] == messages[:3]


def test_user_messages_stay_verbatim_and_tool_groups_alone_go() -> None:
    messages = [*WORK, *called("c5", "bash", {}, "row " * 60), said("assistant", "Done."), said("user", "Thanks.")]
    step = Summarize(KeepMessages(1), "assistant", max_tokens=120, scope=Scope(only="tool_groups"))
    result = compacted(forced(step), messages)
    hole = next(tile for tile in result.plan.tiles if isinstance(tile, SummaryHole))
    assert (hole.start, hole.stop, hole.role, hole.kept) == (2, 14, "assistant", (KeepRange(10, 12),))
    for text in (WORK[1], WORK[10], WORK[11]):
        assert text in result.messages


def test_the_least_important_goes_first_and_no_more_than_needed() -> None:
    limit = chat(WORK).tokens().n - 30
    result = compacted(Policy(TokensOver(limit), (Drop(KeepMessages(1), Scope(order="priority")),)))
    assert [tile for tile in result.plan.tiles if isinstance(tile, DropRange)] == [DropRange(2, 4, "policy")]
    low = compacted(Policy(TokensOver(limit), (Drop(KeepMessages(1), Scope(order="priority")),), target_share=0.5))
    gone = [k for tile in low.plan.tiles if isinstance(tile, DropRange) for k in range(tile.start, tile.stop)]
    assert gone == [2, 3, 4, 5, 6, 7], "both reads, then a run; what the user said stays"


def test_predicates_by_name() -> None:
    step = Summarize(KeepMessages(1), max_tokens=120, scope=Scope(pins=(PinPredicate("states_rule"),)))
    assert WORK[1] in compacted(forced(step)).messages
    register_predicate("second_reading", lambda transcript, index: index == 6)
    step = Summarize(KeepMessages(1), max_tokens=120, scope=Scope(pins=(PinPredicate("second_reading"),)))
    assert WORK[7] in compacted(forced(step)).messages
    with pytest.raises(ArgumentError, match=r"No predicate is named 'nope'; there are .*states_rule"):
        plan(chat(WORK), forced(Summarize(KeepMessages(1), scope=Scope(pins=(PinPredicate("nope"),)))))


@pytest.mark.parametrize("scope", [Scope(), Scope(user_verbatim=True), Scope(only="tool_groups")])
def test_an_all_tool_conversation_has_an_outcome(scope: Scope) -> None:
    messages = [m for k in range(6) for m in called(f"c{k}", "bash", {"n": k}, PROSE * 8)]
    result = compact_sync(chat(messages), forced(Summarize(KeepMessages(2), max_tokens=150, scope=scope)))
    assert isinstance(result, CompactionResult)
    assert result.task_kept == "absent"
    assert result.messages[1:] == messages[-2:]


def test_a_message_larger_than_the_budget_is_cut_or_named() -> None:
    large = [said("user", "Go."), *called("c1", "bash", {}, PROSE * 400), said("user", "And?")]
    cut = compacted(Policy(TokensOver(500), (Summarize(), TruncateResults(200, 50))), large)
    assert cut.after.hi <= 500
    asked = [said("user", "Hello."), said("assistant", "Yes?"), said("user", PROSE * 100)]
    assert skipped(Policy(TokensOver(500), (Summarize(), TruncateResults())), asked).reason == "budget_below_floor"


def test_a_head_larger_than_the_window_is_named() -> None:
    messages = [said("user", PROSE * 60), *[said("assistant" if k % 2 else "user", PROSE) for k in range(1, 12)]]
    step = Summarize(KeepMessages(2), scope=Scope(head=KeepMessages(1)))
    skip = skipped(Policy(TokensOver(600), (step,)), [*messages, said("user", "Go.")])
    assert skip.reason == "budget_below_floor"
    assert "head" in skip.text


def test_keeping_nothing_still_keeps_what_is_unanswered() -> None:
    result = compacted(forced(Summarize(KeepMessages(0), max_tokens=120)))
    assert result.messages[-1] is WORK[-1]
    result = compacted(forced(Summarize(KeepToolGroups(0), max_tokens=120)))
    assert result.messages[-1] is WORK[-1]


def test_a_head_by_tokens_is_a_limit() -> None:
    limit = chat(WORK).tokens(1, 4).hi
    step = Summarize(KeepMessages(2), max_tokens=150, scope=Scope(head=KeepTokens(limit)))
    found = plan(chat(WORK), forced(step))
    assert isinstance(found, CompactionPlan)
    assert found.tiles[0] == KeepRange(0, 4)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Summarize(temperature=2.5), "temperature"),
        (lambda: Summarize(timeout_seconds=-1.0), "timeout_seconds"),
        (lambda: MaskResults(grid=0), "grid"),
        (lambda: Scope(min_tokens=-1), "min_tokens"),
        (lambda: KeepToolGroups(-1), "count"),
        (lambda: PinText(""), "text"),
        (lambda: Policy(OnRequest(), (), target_share=1.1), "target_share"),
        (lambda: plan(chat(WORK), forced(Summarize(KeepMessages(-1)))), "less than 0"),
        (lambda: plan(chat(WORK), forced(MaskResults(KeepTurns(-1)))), "less than 0"),
        (lambda: register_predicate("", lambda _, __: True), "name"),
    ],
)
def test_a_wrong_number_is_refused_by_name(make: object, named: str) -> None:
    assert callable(make)
    with pytest.raises(ArgumentError, match=named):
        make()
