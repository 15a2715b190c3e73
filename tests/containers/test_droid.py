"""What only logs of Droid have."""

import json
from pathlib import Path

import pytest

from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.model.policy import Drop, OnRequest, Policy, Step, Summarize
from turnfold.model.selection import Scope
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def test_the_session_store_holds_messages_as_they_were_sent():
    logged = read_log((SAMPLES / "droid.jsonl").read_bytes()).transcripts[0]
    assert (logged.id, logged.transcript.format) == ("d-0001", "anthropic.messages")
    kinds = [block.kind for block in logged.transcript.blocks(1)]
    assert kinds == ["reasoning", "text", "tool_call"]


def test_calls_of_the_stream_belong_to_the_text_before_them():
    transcript = read_log((SAMPLES / "droid-stream.jsonl").read_bytes()).transcripts[0].transcript
    assert transcript.roles == ("user", "assistant", "tool", "tool", "assistant", "user", "assistant")
    answer = json.loads(transcript.message_json(1))
    assert answer["content"] == "I ask the harbour."
    assert [call["id"] for call in answer["tool_calls"]] == ["c1", "c2"]
    assert json.loads(transcript.message_json(3))["content"] == '{"stdout":"calm\\n","exitCode":0}'


def test_a_completion_that_repeats_the_answer_is_of_its_message():
    logged = read_log((SAMPLES / "droid-stream.jsonl").read_bytes()).transcripts[0]
    assert logged.origins[-1] == (9, 10)


def test_a_completion_that_says_more_is_a_message():
    data = (SAMPLES / "droid-stream.jsonl").read_bytes().replace(b'"finalText":"Until 18:00."', b'"finalText":"Six."')
    transcript = read_log(data).transcripts[0].transcript
    assert json.loads(transcript.message_json(len(transcript) - 1))["content"] == "Six."


def parents(data: bytes) -> dict[str, str | None]:
    records = [json.loads(line) for line in data.splitlines() if line.strip()]
    return {record["id"]: record.get("parentId") for record in records if record["type"] == "message"}


def session(*said: str) -> bytes:
    lines: list[object] = [{"type": "session_start", "id": "s", "cwd": "/srv"}]
    for number, text in enumerate(said):
        role = "assistant" if number % 2 else "user"
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        parent = f"m{number - 1}" if number else "s"
        lines.append({"type": "message", "id": f"m{number}", "parentId": parent, "message": message})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


LONG = "The ferry leaves from the north pier, every forty minutes until noon. " * 12


SPARED = Scope(user_verbatim=True)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Drop(keep=KeepMessages(2)), {"m4": "s", "m5": "m4"}),
        # The summary has the id of the first that goes; where one stays before that, an id of its own.
        (Summarize(KeepMessages(2), max_tokens=120, scope=SPARED), {"m1": "m0", "m2": "m1", "m4": "m2"}),
        (
            Summarize(KeepMessages(2), max_tokens=120, scope=SPARED, place="start"),
            {"m1-summary": "s", "m0": "m1-summary", "m2": "m0"},
        ),
    ],
    ids=["dropped", "kept behind the summary", "all kept behind the summary"],
)
def test_what_hung_on_a_record_that_goes_hangs_on_one_that_stays(step: Step, expected: dict[str, str | None]):
    log = read_log(session("Hi", LONG, "And then?", LONG, "And now?", "No."))
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (step,)))
    assert isinstance(result, CompactionResult)
    found = parents(log.write({log.transcripts[0].id: result}))
    assert found | expected == found
