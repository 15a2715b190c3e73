"""What only logs of Droid have."""

import json
from pathlib import Path

from turnfold.containers import read_log

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
