"""A compaction in every wire format: valid, smaller, its kept messages untouched, and done once."""

import msgspec
import pytest

from turnfold import (
    CompactionResult,
    KeepMessages,
    OnRequest,
    Policy,
    Rules,
    Skip,
    Summarize,
    Transcript,
    compact_sync,
    scan,
)
from turnfold.model.plan import KeepRange
from turnfold.testing.generators import BY_FORMAT


@pytest.mark.parametrize("format", sorted(BY_FORMAT))
def test_a_compaction_is_valid_smaller_and_done_once(format: str) -> None:
    compacted = 0
    for seed in range(40):
        transcript = Transcript.from_json(msgspec.json.encode(BY_FORMAT[format](seed, turns=10)))
        assert transcript.format == format
        step = Summarize(keep=KeepMessages(seed % 8), max_tokens=300, task_max_tokens=60)
        policy = Policy(trigger=OnRequest(), steps=(step,))
        result = compact_sync(transcript, policy, Rules())
        if not isinstance(result, CompactionResult):
            continue
        compacted += 1
        assert scan(result.transcript).ok
        assert result.after.n < result.before.n
        at = 0
        for tile in result.plan.tiles:
            if isinstance(tile, KeepRange):
                for index in range(tile.start, tile.stop):
                    assert result.transcript.message_json(at) == transcript.message_json(index)
                    at += 1
            else:
                at += 1
        again = Transcript.from_json(result.body, format=format)
        assert isinstance(compact_sync(again, policy, Rules()), Skip)
    assert compacted > 25
