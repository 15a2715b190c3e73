"""Recorded sessions whose answers nobody wrote: does what the user said survive that was needed later word for word?

    python benches/quality/needed_later.py FOLDER [--share 0.2] [--of-each 40] [--by replies] [--verbose]

By `calls`, a value is asked for where an argument of a call is a string that a user's message before it holds, letter
for letter: an account, a date, a path, a name. By `replies` it is asked for where the user gives a number, a quoted
phrase or a name of several words, and the model says it again after the user has spoken anew: constraints, decisions
and facts that stayed in use. What the instructions, the first message or a tool's result hold too is left out: it
stays, or can be had again. The sessions are compacted whole to their instructions and `--share` of the rest. So
neither the sentences nor the values are by whoever wrote the rules, and no rule of turnfold's decides what is asked.
There is no bar: it is a measurement.
"""

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from compacting import ENCODING

from turnfold import Skip, Transcript, compact_sync, count, presets, read_log
from turnfold.errors import TurnfoldError

_LONGEST_FILE = 8_000_000
_LEAST_TOKENS = 1_000
_VALUE = re.compile(
    r"(?<![\w.])[$€£]?\d[\d.,:/-]*\d%?(?![\w.])|[\"“'`]([^\"”'`\n]{4,60})[\"”'`]|"
    r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)+"
)
"""A number of two digits and more, something in quotation marks, a name of several words inside a sentence."""


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)


def _arguments(text: str) -> Iterator[str]:
    """The strings in a call's arguments, which stand below its name."""
    try:
        yield from _strings(json.loads(text.partition("\n")[2]))
    except ValueError:
        return


def asked_for(transcript: Transcript) -> list[str]:
    """Values of the user that a later call carries, in the order of the calls."""
    staying, said, first = "", "", True
    found: dict[str, None] = {}
    for index, speaker in enumerate(transcript.speakers):
        for block in transcript.blocks(index):
            if speaker == "system" or (speaker == "user" and first and block.kind == "text"):
                staying += f"\n{block.text}"
            elif speaker == "user" and block.kind == "text":
                said += f"\n{block.text}"
            elif block.kind == "tool_call":
                values = {value.strip() for value in _arguments(block.text)}
                found |= dict.fromkeys(v for v in sorted(values) if 4 <= len(v) <= 80 and v in said)
        first = first and speaker != "user"
    return [value for value in found if value not in staying]


def said_again(transcript: Transcript) -> list[str]:
    """Values of the user that the model says again when the user has spoken anew, in the order in which it does."""
    staying, first, turn = "", True, 0
    given: dict[str, int] = {}
    found: dict[str, None] = {}
    for index, speaker in enumerate(transcript.speakers):
        texts = [block.text for block in transcript.blocks(index) if block.kind == "text"]
        turn += speaker == "user" and bool(texts)
        for block in transcript.blocks(index):
            stays = speaker == "system" or (speaker == "user" and first and block.kind == "text")
            if stays or block.kind == "tool_result":
                staying += f"\n{block.text}"
            elif speaker == "user" and block.kind == "text":
                for match in _VALUE.finditer(block.text):
                    given.setdefault((match[1] or match[0]).strip(), turn)
            elif speaker == "assistant" and block.kind == "text":
                found |= dict.fromkeys(value for value, said in given.items() if said < turn and value in block.text)
        first = first and speaker != "user"
    return [value for value in found if value not in staying]


def compacted_text(transcript: Transcript, share: float) -> str | None:
    """What is left of `transcript`; None where it is not compacted."""
    tokens = transcript.tokens(encoding=ENCODING)
    own = [index for index, speaker in enumerate(transcript.speakers) if speaker == "system"]
    kept = sum(count(block.text, ENCODING) for index in own for block in transcript.blocks(index))
    limit = kept + int((tokens.hi - kept) * share)
    policy = presets.ledger(0, fraction=None, limit_tokens=limit, ledger_tokens=limit, user_verbatim=False)
    result = compact_sync(transcript, policy, encoding=ENCODING)
    if isinstance(result, Skip):
        return None
    after = result.transcript
    return "\n".join(block.text for index in range(len(after)) for block in after.blocks(index))


def _sessions(source: Path, most: int, asked_of: Callable[[Transcript], list[str]]) -> Iterator[Transcript]:
    for path in sorted(source.rglob("*.json*")):
        if path.stat().st_size > _LONGEST_FILE:
            continue
        try:
            data = path.read_bytes()
            log = read_log(gzip.decompress(data) if path.suffix == ".gz" else data)
        except (TurnfoldError, OSError, EOFError):
            continue
        for logged in log.transcripts:
            transcript = logged.transcript
            if transcript.tokens(encoding=ENCODING).n >= _LEAST_TOKENS and asked_of(transcript):
                yield transcript
                most -= 1
            if not most:
                return


def main() -> int:
    """Print by source how many values survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--of-each", type=int, default=40, help="sessions of each folder in FOLDER, at most")
    parser.add_argument("--by", choices=["calls", "replies"], default="calls", help="what shows that it was needed")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    asked_of = asked_for if arguments.by == "calls" else said_again
    asked: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    sessions: Counter[str] = Counter()
    for source in sorted(path for path in arguments.folder.iterdir() if path.is_dir()):
        for transcript in _sessions(source, arguments.of_each, asked_of):
            text = compacted_text(transcript, arguments.share)
            values = asked_of(transcript)
            lost = [value for value in values if text is None or value not in text]
            for group in (source.name, "all"):
                sessions[group] += 1
                asked[group] += len(values)
                kept[group] += len(values) - len(lost)
            if arguments.verbose and lost:
                print(f"--- {source.name} lost {lost}\n{text}\n")
    for group in asked:
        share = kept[group] / asked[group]
        print(f"{group}: {share:.1%} of {asked[group]} values in {sessions[group]} sessions")
    return 0 if asked else 1


if __name__ == "__main__":
    sys.exit(main())
