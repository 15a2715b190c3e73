"""`conpact`: does a side constraint of the user survive? Retention by a verbatim judge, without a model.

    python benches/quality/conpact_retention.py [FOLDER] [--share 0.25] [--verbose]

The package takes its histories from a hub; here they are chats made by `heldback.py` and, with FOLDER, recorded
ones from there: of each folder in it the first that is long enough, what user and model say in it. Its own code injects
each of its 15 constraints in each of its four framings, at the top, middle and end and several times over. The judge
says yes only where the constraint stands in the compacted messages word for word; a model as judge would say yes more
often.
"""

import argparse
import gzip
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from compacting import ENCODING, compact_messages
from conpact import SCS, Instance, build_instances
from conpact.generate import cut
from heldback import chat

from turnfold import count, read_log
from turnfold.errors import TurnfoldError

BAR = 0.99
_TRIED_OF_EACH = 12
_LONGEST_FILE = 2_000_000
_FRAMINGS = [(strict, direct) for strict in (False, True) for direct in (False, True)]
_PLACES = (("top", 1), ("middle", 1), ("bottom", 1), ("multi", 3))


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _haystack(name: str, messages: Sequence[dict[str, str]]) -> dict[str, object]:
    tokens = [count(message["content"], ENCODING) for message in messages]
    return {
        "haystack_id": name,
        "source": name.partition(":")[0],
        "system_prompt": "",
        "source_conversation_count": 1,
        "messages": list(messages),
        "message_tokens": tokens,
    }


def _texts(path: Path) -> list[dict[str, str]]:
    """What user and model say in the longest transcript of a recording; empty where it is none."""
    try:
        data = path.read_bytes()
        log = read_log(gzip.decompress(data) if path.suffix == ".gz" else data)
    except (TurnfoldError, OSError, EOFError):
        return []
    longest = max((logged.transcript for logged in log.transcripts), key=len, default=None)
    if longest is None:
        return []
    messages = []
    for index, speaker in enumerate(longest.speakers):
        text = "\n".join(block.text for block in longest.blocks(index) if block.kind == "text").strip()
        if text and speaker in {"user", "assistant"}:
            messages.append({"role": speaker, "content": text})
    return messages


def _recorded(folder: Path, most: int, length: int) -> Iterator[dict[str, object]]:
    """The first chat of each folder in `folder` that is long enough, until there are `most`."""
    for source in sorted(path for path in folder.iterdir() if path.is_dir()):
        for path in sorted([*source.rglob("*.json*")])[:_TRIED_OF_EACH]:
            if path.stat().st_size > _LONGEST_FILE:
                continue
            messages = _texts(path)
            if sum(message["role"] == "user" for message in messages) < 3:
                continue
            haystack = _haystack(f"{source.name}:{path.name}", messages)
            # Its first messages must not be over the length already: the kit cuts between messages.
            held, tokens = cut(messages, haystack["message_tokens"], length)
            if tokens >= 1_500 and sum(message["role"] == "user" for message in held) >= 3:
                yield haystack
                most -= 1
                break
        if not most:
            return


def _instances(haystacks: list[dict[str, object]], length: int) -> Iterator[tuple[str, Instance]]:
    for strict, direct in _FRAMINGS:
        for position, repeat in _PLACES:
            for instance in build_instances(
                haystacks, length=length, position=position, repeat=repeat, strict=strict, direct=direct
            ):
                yield position, instance


def main() -> int:
    """Print retention by place and by constraint; 1 where it is under the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--length", type=int, default=6_000, help="tokens of each history, at most")
    parser.add_argument("--histories", type=int, default=3, help="made histories")
    parser.add_argument("--recorded", type=int, default=5, help="recorded histories, at most")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    haystacks = [_haystack(f"made:{seed}", chat(random.Random(seed), turns=60)) for seed in range(arguments.histories)]
    if arguments.folder is not None:
        haystacks += _recorded(arguments.folder, arguments.recorded, arguments.length)
    kept: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for position, instance in _instances(haystacks, arguments.length):
        tokens = sum(count(message["content"], ENCODING) for message in instance.messages)
        text = compact_messages(instance.messages, int(tokens * arguments.share)).text
        held = _plain(instance.sc_text) in _plain(text)
        for group in (position, f"constraint {instance.sc_id}", instance.source, "all"):
            asked[group] += 1
            kept[group] += held
        if arguments.verbose and not held:
            print(f"--- lost at {position}: {instance.sc_rendered}\n{text}\n")
    for group in asked:
        if kept[group] < asked[group] or group in {"all", *dict(_PLACES)}:
            print(f"{group}: {kept[group] / asked[group]:.1%} of {asked[group]}")
    assert len(SCS) == len({group for group in asked if group.startswith("constraint ")})
    return 0 if kept["all"] >= BAR * asked["all"] else 1


if __name__ == "__main__":
    sys.exit(main())
