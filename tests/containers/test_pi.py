"""pi: paths of a tree, compactions by id and by number, what is never sent again."""

import json
from pathlib import Path

import pytest

from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def read(name: str):
    return read_log((SAMPLES / name).read_bytes())


def texts(name: str) -> str:
    transcript = read(name).transcripts[0].transcript
    return "\n".join(block.text for index in range(len(transcript)) for block in transcript.blocks(index))


@pytest.mark.parametrize("name", ["pi.jsonl", "pi-old.jsonl"])
def test_the_model_sees_the_summary_first_and_then_what_was_kept(name):
    transcript = read(name).transcripts[0].transcript
    assert transcript.blocks(0)[0].text.startswith("# Checkpoint")
    assert transcript.blocks(1)[0].text.startswith("Then mend it.")
    assert "crontab" not in texts(name)
    assert transcript.model == "claude-sonnet-4-5"


def test_results_that_follow_each_other_are_one_message():
    log = read_log((SAMPLES / "pi.jsonl").read_bytes().replace(b'"type":"compaction"', b'"type":"custom"'))
    transcript = log.transcripts[0].transcript
    assert [block.call_id for block in transcript.blocks(2)] == ["toolu_m1", "toolu_m2"]
    kinds = [block.kind for block in transcript.blocks(1)]
    assert kinds == ["reasoning", "text", "tool_call", "tool_call"]


def test_branches_aborted_answers_and_private_commands_are_not_seen():
    log = read_log((SAMPLES / "pi.jsonl").read_bytes().replace(b'"type":"compaction"', b'"type":"custom"'))
    transcript = log.transcripts[0].transcript
    said = "\n".join(block.text for index in range(len(transcript)) for block in transcript.blocks(index))
    assert "taken back" not in said
    assert "partial" not in said
    assert "whoami" not in said
    assert "Ran `ls /var/log/wheel*`" in said
    assert "On another branch" in said
    assert log.unread["aborted message"] == 1
    assert log.unread["superseded message"] == 3


@pytest.mark.parametrize(("name", "key"), [("pi.jsonl", "firstKeptEntryId"), ("pi-old.jsonl", "firstKeptEntryIndex")])
def test_a_compaction_is_one_line_more_at_the_end(name, key):
    data = (SAMPLES / name).read_bytes()
    log = read_log(data)
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    written = log.write({log.transcripts[0].id: result})
    assert written.startswith(data)
    entry = json.loads(written[len(data) :])
    assert entry["type"] == "compaction"
    assert entry["tokensBefore"] == result.before.n
    kept = [json.loads(line) for line in data.split(b"\n") if line.startswith(b"{")]
    first = kept[entry[key]] if key == "firstKeptEntryIndex" else next(r for r in kept if r.get("id") == entry[key])
    assert first["message"]["content"][0]["text"] == "The dry run shows seven rotations."
    if key == "firstKeptEntryId":
        assert entry["parentId"] == kept[-1]["id"]
