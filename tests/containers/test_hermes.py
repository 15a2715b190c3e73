"""Oddities of Hermes archives: messages that were compacted or taken back, states as the record of a compaction."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLE = (Path(__file__).parent / "samples" / "hermes.json").read_bytes()


def test_what_was_compacted_or_rewound_is_not_seen():
    log = read_log(SAMPLE)
    assert log.unread == {"rewound message": 1, "compacted message": 2}
    assert log.transcripts[0].origins[:3] == ((0,), (1,), (5,))


def test_a_compaction_changes_states_and_adds_a_message():
    log = read_log(SAMPLE)
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(1)),)))
    assert isinstance(result, CompactionResult)
    before, after = json.loads(SAMPLE)["messages"], json.loads(log.write({"s7": result}))["messages"]
    assert after[1]["text"] == result.summary
    assert after[1]["state"] == "active"
    kept = {origin for origins in log.transcripts[0].origins[-len(result.transcript) + 2 :] for origin in origins}
    assert kept
    for index, message in enumerate(before):
        stays = index == 0 or index in kept or message.get("state") == "rewound"
        expected = message if stays else {**message, "state": "compacted"}
        assert after[index + (index > 0)] == expected
