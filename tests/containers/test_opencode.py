"""opencode: steps, results inside tools, compactions with a tail, and rows of its database."""

import json
from pathlib import Path

import pytest

from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.errors import NotWritableError
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLE = Path(__file__).parent / "samples" / "opencode.json"
EXPORT = json.loads(SAMPLE.read_bytes())


def said(data: bytes) -> list[tuple[str, str]]:
    transcript = read_log(data).transcripts[0].transcript
    return [(role, "\n".join(b.text for b in transcript.blocks(k))) for k, role in enumerate(transcript.roles)]


def compacted(keep: int) -> tuple[dict, CompactionResult]:
    log = read_log(SAMPLE.read_bytes())
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(keep)),)))
    assert isinstance(result, CompactionResult)
    return json.loads(log.write({"ses_lamp01": result})), result


def test_the_summary_stands_before_the_tail_that_was_kept():
    messages = said(SAMPLE.read_bytes())
    assert messages[0][1].startswith("## Goal")
    assert messages[1] == ("user", "Then make it ten. The photo shows the chart.\n")
    assert ("user", "Continue if you have next steps") in messages
    assert "Ships have complained" not in str(messages)


def test_what_was_interrupted_or_cleared_reads_as_the_model_reads_it():
    results = [text for role, text in said(SAMPLE.read_bytes()) if role == "tool"]
    assert results[-2:] == ["[Old tool result content cleared]", "[Tool execution was interrupted]"]
    assert results[-3].startswith("ok pier/blink")


def test_steps_are_messages_and_ignored_texts_are_not_said():
    whole = {**EXPORT, "messages": EXPORT["messages"][:3]}
    messages = said(json.dumps(whole).encode())
    assert [role for role, _ in messages] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert "hidden" not in messages[0][1]
    assert messages[3][1] == "go: not found"


def test_failed_and_superseded_messages_are_counted():
    assert read_log(SAMPLE.read_bytes()).unread == {
        "failed message": 1,
        "superseded message": 2,
        "message without content": 1,
    }


@pytest.mark.parametrize("keep", [0, 2])
def test_a_compaction_is_two_messages_more(keep):
    after, result = compacted(keep)
    assert after["messages"][: len(EXPORT["messages"])] == EXPORT["messages"]
    asked, answered = after["messages"][len(EXPORT["messages"]) :]
    mark, text = asked["parts"]
    assert (mark["type"], text["text"]) == ("compaction", result.summary)
    # The last question always stays.
    assert mark["tail_start_id"] == EXPORT["messages"][-1 - (keep // 2)]["info"]["id"]
    assert (answered["info"]["summary"], answered["info"]["parentID"]) == (True, asked["info"]["id"])
    assert asked["info"]["id"] > EXPORT["messages"][-1]["info"]["id"]


def test_a_compaction_that_is_not_done_hides_what_is_before_its_tail():
    unfinished = [m for m in EXPORT["messages"] if not m["info"].get("summary")]
    messages = said(json.dumps({**EXPORT, "messages": unfinished}).encode())
    assert messages[0][1].startswith("Then make it ten.")
    assert "## Goal" not in str(messages)


def rows() -> list[dict]:
    found = []
    for message in EXPORT["messages"][:3]:
        for part in message["parts"]:
            data = {key: value for key, value in part.items() if key not in {"id", "sessionID", "messageID"}}
            head = {"id": part["id"], "message_id": part["messageID"], "session_id": part["sessionID"]}
            created = message["info"]["time"]["created"]
            found.append({**head, "time_created": created, "time_updated": created, "data": json.dumps(data)})
    return found


def test_rows_are_read_in_the_order_of_time_and_cannot_be_written_to():
    log = read_log(json.dumps(rows()[::-1]).encode())
    assert [logged.id for logged in log.transcripts] == ["ses_lamp01"]
    assert log.transcripts[0].transcript.roles == ("user", "assistant", "tool", "tool", "assistant", "user")
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(1)),)))
    assert isinstance(result, CompactionResult)
    with pytest.raises(NotWritableError, match="export the session"):
        log.write({"ses_lamp01": result})


@pytest.mark.parametrize(
    "value",
    [
        [{"id": "m", "session_id": "s", "time_created": 1, "data": '{"role":"user"}'}],
        [{"id": "s", "project_id": "p", "slug": "x", "directory": "/w"}],
        {"id": "m", "sessionID": "s", "role": "user", "time": {"created": 1}},
        {"id": "p", "messageID": "m", "type": "text", "text": "Hello"},
        {"id": "s", "projectID": "p", "directory": "/w", "version": "1"},
    ],
)
def test_files_without_a_transcript_are_known(value):
    log = read_log(json.dumps(value).encode())
    assert (log.container, log.transcripts, sum(log.unread.values())) == ("opencode", (), 1)
