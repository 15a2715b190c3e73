"""Invented transcripts damaged in a named way. The same seed gives the same bytes."""

import copy
from collections.abc import Callable
from random import Random
from types import MappingProxyType
from typing import Final

from turnfold.testing.generators import Body, Json


def damaged(body: Body, seed: int, damage: str | None = None) -> tuple[Body, str]:
    """Return a copy of `body` damaged in one way of `DAMAGES`, and which way.

    The body comes back whole where there is no place for that damage.
    """
    random = Random(seed)  # noqa: S311  # invented text, no secret
    name = damage or random.choice(sorted(DAMAGES))
    broken = copy.deepcopy(body)
    messages = broken["messages"]
    if isinstance(messages, list):
        DAMAGES[name](messages, random)
    return broken, name


def _is_result(block: dict[str, Json]) -> bool:
    return "tool_call_id" in block or block.get("type") == "tool_result" or "toolResult" in block


def _drop_a_result(messages: list[Json], random: Random) -> None:
    _remove(messages, random, _is_result)


def _drop_a_call(messages: list[Json], random: Random) -> None:
    _remove(messages, random, lambda block: block.get("type") in {"function", "tool_use"} or "toolUse" in block)


def _repeat_a_result(messages: list[Json], random: Random) -> None:
    places = _places(messages, _is_result)
    if places:
        holder, index = random.choice(places)
        holder.insert(index, copy.deepcopy(holder[index]))


def _blank_a_text(messages: list[Json], random: Random) -> None:
    texts = _places(messages, lambda block: isinstance(block.get("text"), str))
    said = _places(messages, lambda block: isinstance(block.get("content"), str) and "role" in block)
    places = texts or said
    if places:
        holder, index = random.choice(places)
        block = holder[index]
        if isinstance(block, dict):
            block["text" if "text" in block else "content"] = "  "


def _move_a_message(messages: list[Json], random: Random) -> None:
    if len(messages) > 1:
        messages.insert(random.randrange(len(messages)), messages.pop(random.randrange(len(messages))))


def _put_instructions_last(messages: list[Json], random: Random) -> None:
    messages.insert(random.randint(1, len(messages)), {"role": "system", "content": "Late rule."})


DAMAGES: Final = MappingProxyType(
    {
        "drop_a_result": _drop_a_result,
        "drop_a_call": _drop_a_call,
        "repeat_a_result": _repeat_a_result,
        "blank_a_text": _blank_a_text,
        "move_a_message": _move_a_message,
        "put_instructions_last": _put_instructions_last,
    }
)
"""Ways to damage a list of messages, by name: each changes it in place, at a random spot."""


def _remove(messages: list[Json], random: Random, matches: Callable[[dict[str, Json]], bool]) -> None:
    places = _places(messages, matches)
    if places:
        holder, index = random.choice(places)
        del holder[index]


def _places(messages: list[Json], matches: Callable[[dict[str, Json]], bool]) -> list[tuple[list[Json], int]]:
    """Every object that matches, as its list and its index: messages, content blocks and calls."""
    found: list[tuple[list[Json], int]] = []
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        if matches(message):
            found.append((messages, index))
        for field in ("content", "tool_calls"):
            items = message.get(field)
            if isinstance(items, list):
                found.extend((items, k) for k, item in enumerate(items) if isinstance(item, dict) and matches(item))
    return found
