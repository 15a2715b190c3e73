"""The check of results finds what it is there for."""

from dataclasses import replace

import msgspec
import pytest

from turnfold import CompactionResult, Transcript, compact_sync, presets
from turnfold.model.plan import KeepRange
from turnfold.testing.generators import BY_FORMAT
from turnfold.testing.plans import check_result


def compacted() -> tuple[Transcript, CompactionResult]:
    transcript = Transcript.from_json(msgspec.json.encode(BY_FORMAT["openai.chat"](3, turns=10, result_words=120)))
    result = compact_sync(transcript, presets.token_threshold(None, transcript.tokens().n // 2))
    assert isinstance(result, CompactionResult)
    check_result(transcript, result)
    return transcript, result


def test_a_kept_message_that_changed() -> None:
    transcript, result = compacted()
    last = len(result.transcript) - 1
    other = result.transcript.splice([range(last), result.transcript.text_message("user", "Else.")])
    with pytest.raises(AssertionError, match="not what it was"):
        check_result(transcript, replace(result, transcript=other))


def test_a_result_that_is_not_smaller() -> None:
    transcript, result = compacted()
    with pytest.raises(AssertionError, match="not fewer"):
        check_result(transcript, replace(result, after=result.before))


def test_a_result_that_is_not_valid() -> None:
    transcript, result = compacted()
    messages = [*result.messages, {"role": "tool", "tool_call_id": "nowhere", "content": "x"}]
    with pytest.raises(AssertionError, match="breaks a rule"):
        check_result(transcript, replace(result, transcript=Transcript.from_messages(messages, format="openai.chat")))


def test_a_plan_that_does_not_tile() -> None:
    transcript, result = compacted()
    *tiles, last = result.plan.tiles
    assert isinstance(last, KeepRange)
    torn = msgspec.structs.replace(result.plan, tiles=(*tiles, KeepRange(last.start + 1, last.stop)))
    with pytest.raises(AssertionError, match="a tile begins at"):
        check_result(transcript, replace(result, plan=torn))


def test_another_summary_than_the_one_it_says() -> None:
    transcript, result = compacted()
    with pytest.raises(AssertionError, match="something else"):
        check_result(transcript, replace(result, summary=str(result.summary).replace("##", "#")))
