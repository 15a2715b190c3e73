"""What a provider has folded, state in force, pointers: none of it goes silently, none is folded twice."""

import json
from collections.abc import Sequence

import msgspec
import pytest

from turnfold import checks
from turnfold.compactor import compact_sync
from turnfold.model.plan import CompactionPlan, DropRange, KeepRange, Skip, SummaryHole
from turnfold.model.policy import Drop, OnRequest, Policy, Summarize, TokensOver
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryRequest
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.planning.plan import plan
from turnfold.planning.wrapper import recognise
from turnfold.summarizers import Function
from turnfold.transcript import Transcript

PROSE = "The tide gauge at berth four read low again, so the pilot waited outside. "
FOLDED = {"type": "compaction", "content": "Berths 1 to 3 were surveyed: all are clear."}
ON_REQUEST = Policy(OnRequest(), (Summarize(KeepMessages(2)),))


def said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def turns(first: int, last: int) -> list[Message]:
    return [
        said(role, f"{word} {k} on berth-{k}.txt. {PROSE * 6}")
        for k in range(first, last)
        for role, word in (("user", "Question"), ("assistant", "Answer"))
    ]


def barrier(*blocks: Message) -> Message:
    return {"role": "assistant", "content": [FOLDED, *blocks]}


def anthropic(messages: Sequence[Message]) -> Transcript:
    return Transcript.from_messages(messages, format="anthropic.messages")


def finished(outcome: CompactionResult | Skip) -> CompactionResult:
    assert isinstance(outcome, CompactionResult), outcome
    assert not [f for f in checks.scan(outcome.transcript).findings if f.severity == "error"]
    return outcome


def test_what_the_provider_folded_goes_and_its_block_opens_the_result() -> None:
    messages = [*turns(0, 2), barrier({"type": "text", "text": "Go on."}), *turns(2, 6), said("user", "Now?")]
    transcript = anthropic(messages)
    asked: list[SummaryRequest] = []

    async def reply(request: SummaryRequest) -> str:
        asked.append(request)
        return "Berths 2 to 4 were asked about."

    result = finished(compact_sync(transcript, ON_REQUEST, Function(reply, name="fake")))
    assert result.plan.tiles[:2] == (DropRange(0, 4, "folded"), KeepRange(4, 5))
    hole = result.plan.tiles[2]
    assert isinstance(hole, SummaryHole)
    assert (hole.start, hole.stop, hole.kept) == (5, 12, ())
    assert result.transcript.message_json(0) == transcript.message_json(4)
    assert recognise(result.transcript.blocks(1)[0].text) is not None
    assert [m.index for m in asked[0].messages] == list(range(5, 12))
    assert asked[0].task is not None
    assert asked[0].task.startswith("Question 2")
    assert result.task_kept == "verbatim"
    again = compact_sync(result.transcript, ON_REQUEST, Function(reply, name="fake"))
    assert isinstance(again, Skip)
    assert again.reason == "nothing_to_compact"
    assert len(asked) == 1


def test_a_second_summary_continues_the_first_behind_the_barrier() -> None:
    transcript = anthropic([barrier(), *turns(0, 4), said("user", "Now?")])
    first = finished(compact_sync(transcript, ON_REQUEST)).transcript
    for message in turns(4, 7):
        first = first.append(message)
    second = finished(compact_sync(first.append(said("user", "And now?")), ON_REQUEST))
    assert second.transcript.message_json(0) == transcript.message_json(0)
    summaries = [recognise(second.transcript.blocks(k)[0].text) for k in range(len(second.transcript))]
    assert [s is not None for s in summaries] == [False, True, False, False]
    assert summaries[1] is not None
    assert summaries[1].messages == 7 + 7
    assert summaries[1].task is not None
    assert summaries[1].task.startswith("Question 0")


def test_folded_messages_go_even_where_no_step_finds_anything() -> None:
    transcript = anthropic([*turns(0, 3), barrier({"type": "text", "text": "Go on."}), said("user", "Now?")])
    result = finished(compact_sync(transcript, ON_REQUEST))
    assert result.plan.tiles == (DropRange(0, 6, "folded"), KeepRange(6, 8))
    assert (result.summary, result.method, result.task_kept) == (None, None, "dropped")
    assert result.identifiers.lost == ()
    assert isinstance(compact_sync(result.transcript, ON_REQUEST), Skip)


def test_what_the_provider_folded_calls_for_no_compaction_and_saves_nothing() -> None:
    rest = [barrier({"type": "text", "text": "Go on."}), *turns(9, 14), said("user", "Now?")]
    whole, alone = anthropic([*turns(0, 9), *rest]), anthropic(rest)
    assert whole.tokens().n == alone.tokens().n
    limit = alone.tokens().n + 10
    assert isinstance(compact_sync(whole, Policy(TokensOver(limit), ON_REQUEST.steps)), Skip)
    policy = Policy(TokensOver(limit - 200), ON_REQUEST.steps)
    saved = [r.before.n - r.after.n for r in (finished(compact_sync(t, policy)) for t in (whole, alone))]
    # The share of a target rounds otherwise.
    assert saved[0] == pytest.approx(saved[1], rel=0.01)
    assert saved[0] > 200


def test_where_a_bound_must_fit_dropping_what_the_provider_folded_makes_it_fit() -> None:
    whole = anthropic([*turns(0, 9), barrier({"type": "text", "text": "Go on."}), said("user", "Now?")])
    policy = Policy(OnRequest(), ON_REQUEST.steps, fit="bound", target_tokens=whole.tokens().hi // 2)
    result = finished(compact_sync(whole, policy))
    assert result.plan.tiles == (DropRange(0, 18, "folded"), KeepRange(18, 20))
    assert result.after.hi <= whole.tokens().hi // 2
    assert result.after.n == whole.tokens().n


def test_a_call_beside_the_barrier_keeps_its_result() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "gauge", "input": {}}
    answer: Message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "2 m"}]}
    messages = [*turns(0, 2), barrier(call), answer, said("assistant", "2 m."), *turns(2, 6), said("user", "Now?")]
    result = finished(compact_sync(anthropic(messages), ON_REQUEST))
    assert result.messages[:2] == messages[4:6]
    assert recognise(result.transcript.blocks(2)[0].text) is not None


def test_a_failed_compaction_of_the_provider_folds_nothing() -> None:
    nothing: Message = {
        "role": "assistant",
        "content": [{"type": "compaction", "content": None}, {"type": "text", "text": "Go on."}],
    }
    result = finished(compact_sync(anthropic([*turns(0, 2), nothing, *turns(2, 4), said("user", "?")]), ON_REQUEST))
    assert not any(isinstance(tile, DropRange) for tile in result.plan.tiles)


def test_a_plan_with_all_kinds_of_tiles_is_data() -> None:
    found = plan(anthropic([*turns(0, 2), barrier(), *turns(2, 6), said("user", "Now?")]), ON_REQUEST)
    assert isinstance(found, CompactionPlan)
    assert msgspec.json.decode(msgspec.json.encode(found), type=CompactionPlan) == found


@pytest.mark.parametrize("keep", [0, 1, 2, 3, 5])
def test_dropping_keeps_a_tail_that_opens_with_the_user(keep: int) -> None:
    transcript = anthropic([*turns(0, 4), said("user", "LAST what now?")])
    result = finished(compact_sync(transcript, Policy(OnRequest(), (Drop(KeepMessages(keep)),))))
    assert result.transcript.speakers[0] == "user"
    assert len(result.transcript) >= max(keep, 1)
    assert result.messages == transcript.messages[-len(result.transcript) :]
    assert result.plan.tiles[0] == DropRange(0, len(transcript) - len(result.transcript), "policy")
    assert result.task_kept == "dropped"
    assert "berth-0.txt" in result.identifiers.lost


def test_dropping_is_the_last_resort_behind_a_summary_and_leaves_the_earlier_one() -> None:
    transcript = anthropic([*turns(0, 4), said("user", "Now?")])
    first = finished(compact_sync(transcript, ON_REQUEST)).transcript
    for message in turns(4, 8):
        first = first.append(message)
    first = first.append(said("user", "And now?"))
    small = Policy(
        TokensOver(first.tokens(0, 1).hi + 60), (Summarize(KeepMessages(2), max_tokens=4_000), Drop(KeepMessages(1)))
    )
    result = finished(compact_sync(first, small))
    assert result.messages == [first.messages[0], first.messages[-1]]
    assert json.loads(result.body) == result.messages


def responses(items: Sequence[Message], **head: object) -> Transcript:
    body = json.dumps({"model": "gpt-5", **head, "input": items}).encode()
    return Transcript.from_json(body, format="openai.responses")


def spoken(role: str, text: str) -> Message:
    return {"type": "message", "role": role, "content": text}


def talk(turns: int) -> list[Message]:
    return [
        spoken(role, f"{word} {k}. {PROSE * 6}")
        for k in range(turns)
        for role, word in (("user", "Question"), ("assistant", "Answer"))
    ]


def listing(identifier: str, server: str) -> Message:
    return {"type": "mcp_list_tools", "id": identifier, "server_label": server, "tools": []}


def test_state_in_force_follows_the_summary_and_is_not_summarised() -> None:
    search: list[Message] = [
        {"type": "tool_search_call", "call_id": "s1", "arguments": {"query": "scale"}, "execution": "client"},
        {"type": "tool_search_output", "call_id": "s1", "execution": "client", "tools": []},
    ]
    messages = [
        *talk(1),
        listing("l1", "port"),
        *search,
        *talk(2),
        listing("l2", "port"),
        *talk(2),
        spoken("user", "?"),
    ]
    transcript = responses(messages)
    asked: list[SummaryRequest] = []

    async def reply(request: SummaryRequest) -> str:
        asked.append(request)
        return "They asked about berths."

    result = finished(compact_sync(transcript, ON_REQUEST, Function(reply, name="fake")))
    assert recognise(result.transcript.blocks(0)[0].text) is not None
    assert result.messages[1:4] == [*search, listing("l2", "port")]
    assert result.messages[4:] == messages[-2:]
    assert {m.index for m in asked[0].messages}.isdisjoint({3, 4, 9})
    hole = result.plan.tiles[0]
    assert isinstance(hole, SummaryHole)
    assert hole.kept == (KeepRange(3, 5), KeepRange(9, 10))
    assert msgspec.json.decode(msgspec.json.encode(result.plan), type=CompactionPlan) == result.plan
    assert result.after.hi <= result.plan.tokens_at_most
    again = compact_sync(result.transcript, ON_REQUEST, Function(reply, name="fake"))
    assert isinstance(again, Skip)
    assert (again.reason, len(asked)) == ("nothing_to_compact", 1)


def test_what_the_provider_hands_back_with_its_item_stays_in_place() -> None:
    window: list[Message] = [spoken("user", "Survey all berths."), {"type": "compaction", "encrypted_content": "gAAA"}]
    result = finished(compact_sync(responses([*window, *talk(4), spoken("user", "Now?")]), ON_REQUEST))
    assert result.messages[:2] == window
    assert recognise(result.transcript.blocks(2)[0].text) is not None
    assert isinstance(compact_sync(result.transcript, ON_REQUEST), Skip)
    # In a stream the item follows what it stands for, answers included.
    streamed = [*talk(2), {"type": "compaction", "encrypted_content": "gAAA"}, *talk(4), spoken("user", "Now?")]
    result = finished(compact_sync(responses(streamed), ON_REQUEST))
    assert result.plan.tiles[0] == DropRange(0, 4, "folded")
    assert result.messages[0] == streamed[4]


@pytest.mark.parametrize(
    ("items", "head"),
    [
        ([*talk(3), spoken("user", "Now?")], {"previous_response_id": "resp_1"}),
        ([*talk(3), {"type": "item_reference", "id": "msg_1"}, spoken("user", "Now?")], {}),
    ],
)
def test_a_history_that_the_server_holds_is_not_shortened_here(items: list[Message], head: dict[str, object]) -> None:
    found = plan(responses(items, **head), ON_REQUEST)
    assert isinstance(found, Skip)
    assert found.reason == "server_history"
    assert "new chain" in found.text
