"""Writes the seed corpus: the bodies and texts of tests/vectors and samples, cut to what a fuzzer likes to mutate.

Usage: python fuzz/seeds.py FOLDER, which gets one folder a target. The same tree always gives the same files.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_BYTES = 1536
# As the targets read them: the byte between two bodies, the bytes before a text.
BETWEEN = b"\xff"
LIMITS = (b"\x00", b"\x05", b"\x28")
# Where the wire formats keep their messages, and what a message or item has one of.
LISTS = ("messages", "input", "contents")
MARKS = frozenset(("role", "type", "parts"))
NOTICES = (b"\x00", b"\x01", b"\x02", b"\x03")


def documents() -> Iterator[object]:
    for path in sorted(ROOT.glob("tests/vectors/**/*.json")):
        yield json.loads(path.read_text())
    for path in sorted(ROOT.glob("samples/*/*.json")):
        yield json.loads(path.read_text())
    for path in sorted(ROOT.glob("samples/*/*.jsonl")):
        yield from (json.loads(line) for line in path.read_text().splitlines())


def values(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from values(inner)


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def messages_of(value: object) -> list[object]:
    if isinstance(value, dict):
        value = next((value[field] for field in LISTS if field in value), None)
    if isinstance(value, list) and value and all(isinstance(m, dict) and MARKS & m.keys() for m in value):
        return value
    return []


def windows(value: object) -> Iterator[bytes]:
    """A request or a list of messages, whole or in the parts that are small enough."""
    messages = messages_of(value)
    if not messages:
        return
    whole = compact(value)
    if len(whole) <= MOST_BYTES:
        yield whole
        return
    window: list[object] = []
    for message in messages:
        if window and len(compact([*window, message])) > MOST_BYTES:
            yield compact(window)
            window = []
        window.append(message)
    yield compact(window)


def bodies() -> Iterator[bytes]:
    for value in (inner for document in documents() for inner in values(document)):
        yield from windows(value)
        # Vectors hold a body as text where its bytes count; broken ones are welcome too.
        if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            yield value.encode("utf-8", "surrogatepass")


def texts() -> Iterator[bytes]:
    for value in (inner for document in documents() for inner in values(document)):
        if isinstance(value, str):
            yield value.encode("utf-8", "replace")[:MOST_BYTES]


def pairs() -> Iterator[bytes]:
    """Bodies beside the one that went before them, which a longer one often starts with, and the pairs of the table."""
    before = b"[]"
    for body in bodies():
        yield before + BETWEEN + body
        before = body
    for case in json.loads((ROOT / "tests/vectors/prefix.json").read_text())["cases"]:
        yield case["before"].encode() + BETWEEN + case["after"].encode()


def write(folder: Path, seeds: Iterator[bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in {seed for seed in seeds if len(seed) <= 2 * MOST_BYTES}:
        (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)


def main() -> None:
    folder = Path(sys.argv[1])
    words = list(dict.fromkeys(texts()))
    write(folder / "read", bodies())
    write(folder / "prefix", pairs())
    write(folder / "tokens", (LIMITS[k % 3] + text for k, text in enumerate(words)))
    write(folder / "truncate_middle", (LIMITS[k % 3] + NOTICES[k % 4] + text for k, text in enumerate(words)))
    # The first bytes of a text are the recipe of the vocabulary that merges the rest.
    for target in ("small_vocabulary", "bounds"):
        write(folder / target, (LIMITS[k % 3] + text for k, text in enumerate(words)))


if __name__ == "__main__":
    main()
