"""Answers of Gemini's Interactions API are read as messages."""

import json

from turnfold.checks import scan
from turnfold.containers import read_log

STEPS: list[dict[str, object]] = [
    {"type": "user_input", "content": [{"type": "text", "text": "Is the bridge open?"}]},
    {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Two places know."}]},
    {"type": "model_output", "content": [{"type": "text", "text": "I look."}]},
    {"type": "function_call", "id": "f1", "name": "bridge", "arguments": {"name": "north"}},
    {"type": "google_search_call", "id": "g1", "arguments": {"queries": ["north bridge"]}},
    {"type": "function_result", "call_id": "f1", "result": "open"},
    {"type": "google_search_result", "call_id": "g1", "result": [{"title": "Bridge news"}], "is_error": False},
    {
        "type": "model_output",
        "content": [{"type": "text", "text": "Yes."}, {"type": "image", "uri": "https://x/y.png"}],
    },
]


def read(steps: list[dict[str, object]]) -> list[dict[str, object]]:
    body = {"id": "v1_a", "object": "interaction", "status": "completed", "model": "gemini-2.5-flash", "steps": steps}
    log = read_log(json.dumps(body).encode())
    assert log.container == "provider_response"
    if not log.transcripts:
        return []
    transcript = log.transcripts[0].transcript
    assert not [finding for finding in scan(transcript).findings if finding.severity == "error"]
    return [json.loads(transcript.message_json(index)) for index in range(len(transcript))]


def test_calls_and_results_of_every_kind_are_pairs():
    messages = read(STEPS)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "assistant"]
    calls = messages[1]["tool_calls"]
    assert isinstance(calls, list)
    assert [(call["id"], call["function"]["name"]) for call in calls] == [("f1", "bridge"), ("g1", "google_search")]
    assert messages[1]["reasoning_content"] == "Two places know."
    assert [message["tool_call_id"] for message in messages[2:4]] == ["f1", "g1"]
    assert messages[3]["content"] == '[{"title":"Bridge news"}]'


def test_what_is_said_behind_a_call_is_a_message_of_its_own():
    messages = read([STEPS[0], *STEPS[3:6], STEPS[6], STEPS[7], STEPS[2]])
    content = messages[-1]["content"]
    assert isinstance(content, list)
    assert [part.get("text") for part in content] == ["Yes.", None, "I look."]
    assert len(messages) == 5


def test_an_interaction_without_an_answer_has_no_transcript():
    assert read([{"type": "thought", "signature": "c2ln"}]) == []
