"""The corpus table's rule for files that hold no message."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))
from messages_in import holds_messages, why_none


@pytest.mark.parametrize(
    "text",
    [
        '{"role": "user", "content": "Hi"}',
        '{"a": [{"b": {"role": "model", "parts": [{"text": "Hi"}]}}]}',
        '{"type": "user", "content": [{"type": "text", "text": "Hi"}]}',
        '{"call_id": "c1", "output": ""}',
        '{"n": 1}\n{"name": "f", "arguments": "{}", "tool_call_id": "c1"}\n',
        '[12:00] note {"role": "assistant",\n "content": "Hi"}\n[12:01] end',
        '{"node_type": "Action", "description": "look", "observation": "rain"}',
        "no JSON at all",
    ],
)
def test_a_message_a_call_and_a_result_are_seen(text: str):
    assert holds_messages(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        '{"title": "Bread", "summary": "About bread", "num_messages": 4}',
        '{"messages": [{"id": "m1", "parentId": null, "isActive": true}]}',
        '{"error": {"message": "No such model", "type": "invalid_request_error", "code": null}}',
        '{"type": "config.update", "cwd": "/srv"}\n',
        '{"role": "assistant", "content": []}',
    ],
)
def test_bookkeeping_and_errors_hold_no_message(text: str):
    assert not holds_messages(text.encode())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            '{"error": {"message": "No such model", "code": null, "type": "invalid_request_error"}}',
            "invalid_request_error",
        ),
        ('{"created": 1, "data": [{"b64_json": "iVBO"}, {"b64_json": "iVBO"}]}', "2 generated images"),
        ('{"messages": [{"role": "user", "id": "m1"}]}', "1 of its 2 objects name a speaker"),
        ('{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7}', "a, b, c, d, e, f, ..."),
    ],
)
def test_it_says_what_is_there_instead(text: str, why: str):
    assert why in (why_none(text.encode()) or "")
