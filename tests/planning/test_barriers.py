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
from turnfold.planning.apply import CompactionResult
from turnfold.planning.plan import plan
from turnfold.planning.wrapper import recognise
from turnfold.summarizers import Function
from turnfold.transcript import Message, Transcript

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


def test_a_call_beside_the_barrier_keeps_its_result() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "gauge", "input": {}}
    answer: Message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "2 m"}]}
    messages = [*turns(0, 2), barrier(call), answer, said("assistant", "2 m."), *turns(2, 6), said("user", "Now?")]
    result = finished(compact_sync(anthropic(messages), ON_REQUEST))
    assert result.messages[:2] == messages[4:6]
    assert recognise(result.transcript.blocks(2)[0].text) is not None


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


def test_a_history_that_the_server_holds_is_not_shortened_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transcript, "remote", True)
    found = plan(anthropic([*turns(0, 4), said("user", "Now?")]), ON_REQUEST)
    assert isinstance(found, Skip)
    assert found.reason == "server_history"
    assert "new chain" in found.text
