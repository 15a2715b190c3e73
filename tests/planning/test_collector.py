"""What a compaction leaves to the interpreter's collector of cycles, which stops every thread while it works.

Once enough of the objects made since the last time have outlived its short rounds, it looks through all objects of the
process, for ten milliseconds and more. Rows that hold nothing but texts and numbers need not be among them: it passes
over structs that say so, and leaves tuples out when it first sees them. Lists, sets and dictionaries it keeps.
"""

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from turnfold import CompactionResult, Transcript, compact_sync, presets, scan
from turnfold.model.policy import Policy
from turnfold.objects import Message

ROUND = 50
"""So many objects are made between two rounds of the collector here: an interpreter as it comes waits for 700."""


MOST_OF_A_MESSAGE = 0.3
"""What is at work when rounds begin outlives them, whatever it is: so much for each of a thousand messages and more."""


class Outlived:
    """How many of the objects made meanwhile were still looked after when two rounds were over."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 1:
            old = len(gc.get_objects(generation=2))
            self.count += old if phase == "stop" else -old


@contextmanager
def outlived() -> Iterator[Outlived]:
    """Count them, with no round that looks through all of them."""
    found, threshold = Outlived(), gc.get_threshold()
    gc.collect()
    gc.set_threshold(ROUND, threshold[1], 1 << 30)
    gc.callbacks.append(found)
    try:
        yield found
    finally:
        gc.callbacks.remove(found)
        gc.set_threshold(*threshold)


def calls(count: int) -> bytes:
    """Short calls and their results, of several tools."""
    messages: list[Message] = []
    for number in range(count):
        if not number % 10:
            messages.append({"role": "user", "content": f"Look at part {number}."})
        name = ("bash", "read_file", "grep")[number % 3]
        arguments = json.dumps({"command": f"look at {number % 40}", "path": f"src/{number}"})
        call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"It is part {number % 40}. " * 20})
    messages.append({"role": "assistant", "content": "All of them are whole."})
    return json.dumps({"model": "gpt-4o", "messages": messages}).encode()


POLICIES: dict[str, Callable[[int], Policy]] = {
    "token_threshold": lambda limit: presets.token_threshold(limit_tokens=limit, summary_tokens=500),
    "evicted_turns": lambda limit: presets.evicted_turns(limit_tokens=limit),
    "tool_batch": lambda _: presets.tool_batch(),
    "observation_mask": lambda limit: presets.observation_mask(limit_tokens=limit),
    "hybrid": lambda limit: presets.hybrid(limit_tokens=limit, summary_tokens=500),
    "rule_digest": lambda limit: presets.rule_digest(limit_tokens=limit),
    "memory_encoder": lambda limit: presets.memory_encoder(limit_tokens=limit),
}


@pytest.mark.parametrize("count", [600, 1200])
@pytest.mark.parametrize("name", POLICIES)
def test_hardly_any_object_of_a_message_outlives_two_rounds(name: str, count: int) -> None:
    body, policy = calls(count), POLICIES[name](100 * count)
    compact_sync(Transcript.from_json(calls(20)), policy)  # what is made once
    with outlived() as found:
        result = compact_sync(Transcript.from_json(body), policy)
    assert isinstance(result, CompactionResult), result
    assert found.count / result.plan.messages < MOST_OF_A_MESSAGE


def test_what_is_said_of_messages_does_not_outlive_rounds() -> None:
    transcript = Transcript.from_json(calls(600))
    with outlived() as found:
        kept = transcript.block_heads, scan(transcript).pairs, transcript.digests()
    assert [len(rows) for rows in kept] == [1261, 600, 600]
    assert found.count / 1261 < MOST_OF_A_MESSAGE
