"""The providers' own SDK types accept what a compaction hands over."""

from typing import Any

import msgspec
import pytest
from sdk_types import refusal

from turnfold import CompactionResult, KeepMessages, OnRequest, Policy, Rules, Summarize, Transcript, compact_sync
from turnfold.testing.generators import BY_FORMAT

FORMATS = ("openai.chat", "openai.responses", "anthropic.messages", "gemini.contents")

REFUSED: list[tuple[str, list[dict[str, Any]]]] = [
    ("openai.chat", [{"role": "tool", "content": "a result without an id"}]),
    ("openai.chat", [{"role": "user", "content": [{"type": "txt", "text": "hi"}]}]),
    ("anthropic.messages", [{"role": "user", "content": [{"type": "tool_result", "content": "no id"}]}]),
    ("openai.responses", [{"type": "function_call", "name": "without an id"}]),
    ("gemini.contents", [{"role": "user", "parts": [{"functionCall": {"nme": "misspelled"}}]}]),
]


@pytest.mark.parametrize(("format", "messages"), REFUSED)
def test_the_types_refuse_what_is_wrong(format: str, messages: list[dict[str, Any]]) -> None:
    assert refusal(Transcript.from_messages(messages, format=format)) is not None


@pytest.mark.parametrize("format", FORMATS)
def test_the_types_accept_a_compacted_transcript(format: str) -> None:
    compacted = 0
    for seed in range(40):
        body = msgspec.json.encode(BY_FORMAT[format](seed, turns=8))
        transcript = Transcript.from_json(body, format=format)
        assert refusal(transcript) is None
        step = Summarize(keep=KeepMessages(seed % 7), max_tokens=200, task_max_tokens=50)
        result = compact_sync(transcript, Policy(trigger=OnRequest(), steps=(step,)), Rules())
        if isinstance(result, CompactionResult):
            compacted += 1
            assert refusal(result.transcript) is None
    assert compacted > 20
