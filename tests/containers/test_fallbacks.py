"""What reads files that no other kind knows, and what leaves them to others."""

import pytest

from turnfold.containers import read_log
from turnfold.errors import UnknownContainerError


def test_a_body_is_a_body_and_not_an_array_somewhere():
    log = read_log(b'{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}')
    assert log.container == "bodies"
    assert [logged.id for logged in log.transcripts] == ["body"]


def test_lines_that_are_no_body_are_carried_along():
    data = b'[{"role":"user","content":"hi"}]\n{"meta":1}\nnoise\n[{"role":"user","content":"ho"}]\n'
    log = read_log(data)
    assert [logged.id for logged in log.transcripts] == ["line 1", "line 4"]
    assert dict(log.unread) == {"line that is no body": 2}
    assert log.reading.unread_lines == (1, 2)
    assert log.write() == data


def test_arrays_of_messages_are_named_by_their_place():
    log = read_log(b'{"runs":[{"chat":[{"role":"user","content":"a"}]},\n{"chat":[{"role":"user","content":"b"}]}]}')
    assert log.container == "message_lists"
    assert [logged.id for logged in log.transcripts] == ["runs[0]", "runs[1]"]


def test_the_role_may_stand_beside_the_message():
    lines = (
        b'{"role":"user","message":{"content":"hi"}}\n{"type":"assistant","message":{"content":"ho"}}\n{"type":"end"}\n'
    )
    log = read_log(lines)
    (logged,) = log.transcripts
    assert log.container == "message_records"
    assert logged.transcript.roles == ("user", "assistant")
    assert dict(log.unread) == {"end": 1}


@pytest.mark.parametrize("data", [b'{"a":1}\n{"b":2}\n', b'{"role":"user"}', b"hello", b"[[1]]"])
def test_what_holds_no_message_is_unknown(data: bytes):
    with pytest.raises(UnknownContainerError):
        read_log(data)
