"""What only logs of Antigravity, Cursor, Grok Build, Hermes, Kiro, Posit Assistant and QwenPaw have."""

import json
from pathlib import Path

import pytest

from turnfold.compactor import compact_sync
from turnfold.containers import LoggedTranscript, read_log
from turnfold.errors import NotWritableError
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def only(sample: str) -> LoggedTranscript:
    (logged,) = read_log((SAMPLES / sample).read_bytes()).transcripts
    return logged


def message(logged: LoggedTranscript, index: int) -> dict[str, object]:
    return dict(json.loads(logged.transcript.message_json(index)))


def test_a_step_of_antigravity_answers_the_open_call_or_is_a_call_of_its_own():
    logged = only("antigravity.jsonl")
    assert logged.transcript.roles[:6] == ("user", "assistant", "tool", "assistant", "tool", "assistant")
    own = message(logged, 3)["tool_calls"]
    assert isinstance(own, list)
    assert own[0]["function"]["name"] == "view_file"
    assert logged.origins[3] == logged.origins[4] == (4,)
    assert message(logged, 1)["reasoning_content"] == "I list it."


def test_what_antigravity_says_by_itself_is_sent_as_the_users():
    logged = only("antigravity.jsonl")
    assert (logged.transcript.roles[6], message(logged, 6)["content"]) == ("user", "The user opened rake.txt.")


def test_reasoning_of_grok_belongs_to_the_answer_that_follows():
    log = read_log((SAMPLES / "grok_build.jsonl").read_bytes())
    logged = log.transcripts[0]
    assert logged.transcript.roles == ("system", "user", "user", "assistant", "tool", "assistant", "user", "assistant")
    assert message(logged, 3)["reasoning_content"] == "The notes may say when."
    assert logged.origins[3] == (5, 3, 4)
    assert log.unread == {"reasoning": 1}


def test_an_older_history_of_grok_is_messages():
    data = b'{"role":"user","content":"Hi"}\n{"role":"assistant","content":"Hello","model_id":"grok-4.5"}\n'
    assert read_log(data).container == "message_records"


def test_parts_of_the_ai_sdk_are_calls_and_results():
    logged = only("posit_assistant.jsonl")
    assert logged.transcript.roles == ("user", "assistant", "tool", "tool", "assistant", "user", "assistant")
    assert message(logged, 3)["content"] == '["year","mm"]'
    assert b'"image_url":{"url":"data:image/png;base64,' in logged.transcript.message_json(5)
    assert logged.origins[2] == logged.origins[3] == (2,)


def test_a_summary_of_posit_has_the_number_of_the_last_that_went():
    log = read_log((SAMPLES / "posit_assistant.jsonl").read_bytes())
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    written = [json.loads(line) for line in log.write({"conversation": result}).splitlines()]
    assert [record["id"] for record in written] == [3, 4, 5]


def test_a_pair_of_kiro_is_two_messages_and_results_stand_with_the_user():
    logged = only("kiro.json")
    assert logged.transcript.roles == ("user", "assistant", "tool", "tool", "assistant", "user", "assistant")
    assert message(logged, 3)["content"] == '{"kilograms":410}'
    assert logged.origins == ((0,), (0,), (1,), (1,), (1,), (2,), (2,))


def test_a_pair_of_kiro_is_not_cut_in_two():
    log = read_log((SAMPLES / "kiro.json").read_bytes())
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(1)),)))
    assert isinstance(result, CompactionResult)
    with pytest.raises(NotWritableError, match="choose another cut"):
        log.write({log.transcripts[0].id: result})


def test_a_memory_of_qwenpaw_has_results_under_the_systems_name():
    logged = only("qwenpaw.json")
    assert logged.transcript.roles == ("system", "user", "assistant", "tool", "assistant", "user", "assistant")
    assert logged.results[3] == ((2, (0, "content", 0, "output", 0, "text")),)
    assert message(logged, 2)["reasoning_content"] == "The table is a file."


def test_an_empty_memory_has_no_transcript():
    log = read_log(b'{"agent":{"memory":{"content":[]},"name":"Otter"}}')
    assert (log.container, log.transcripts) == ("qwenpaw", ())


def test_a_session_of_hermes_has_its_instruction_and_its_tools_and_no_meta():
    log = read_log((SAMPLES / "hermes_session.json").read_bytes())
    transcript = log.transcripts[0].transcript
    assert transcript.roles == ("system", "user", "assistant", "tool", "assistant", "user", "assistant")
    assert json.loads(transcript.to_json())["tools"][0]["function"]["name"] == "timetable"
    assert log.unread == {"session_meta": 1}


def test_calls_of_cursor_get_ids_and_their_results_with_them():
    logged = only("cursor.jsonl")
    assert logged.transcript.roles[:6] == ("user", "assistant", "tool", "assistant", "tool", "assistant")
    assert [message(logged, index)["tool_call_id"] for index in (2, 4)] == ["call_1", "call_3"]
    assert message(logged, 1)["reasoning_content"] == "The log tells."
