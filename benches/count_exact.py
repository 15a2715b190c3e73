"""Count and encode a million strings over all of Unicode, and whole recordings, as tiktoken does, or say where not.

    python benches/count_exact.py [--strings N] [--seed N] [--texts]

--texts   also every text of count_texts.py, and every recording of its corpus folder

Encodings: o200k_base, cl100k_base and o200k_harmony. Each string is counted, counted again (now that the thread
remembers its pieces), counted within a batch and encoded. Exits 1 at the first difference.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import tiktoken
from count_texts import KINDS, neutral, recordings, text

import turnfold
from turnfold import _core
from turnfold.testing.oracle import tiktoken_encodings

LAST = 0x10FFFF
SURROGATES = range(0xD800, 0xE000)
# Where the patterns turn: kinds of space, marks, case, contractions, numbers, joiners, what looks like a special token.
PIECES: tuple[str, ...] = (
    *" \t\n\r\x0b\x0c\x1c\x85\xa0\u1680\u2003\u2028\u2029\u3000\ufeff\u200b\u200d\ufe0f",
    *("  ", "    ", "\r\n", "\n\n", " \n", "\n ", "\t\t", "'s", "'T", "'re", "'VE", "'ll", "'d", "'\u017f", "\u2019s"),
    *("\u0301", "\u0345", "e\u0301", "\u0e33", "\u094d", "\u01c5", "\u02b0", "\u212a", "\u0130", "\u017f"),
    *("0", "12", "345", "6789", "\u0663", "\u2167", "\u00bd", "\u096a"),
    *("/", "//", "{", "}\n", "==", "--", "...", "\\n", '"', "_", "$", "#", "<|", "|>"),
    *("<|endoftext|>", "<|im_start|>", "<|start|>", "<|channel|>", "<|endofprompt|>", "<|reserved_200013|>"),
    *(
        "the",
        " and",
        "HTTP",
        "Server",
        "foo",
        "ing",
        "don't",
        "na\u00efve",
        "stra\u00dfe",
        "\u03a9mega",
        "\u0416\u0443\u043a",
    ),
    *(
        "\u4e2d\u6587",
        "\u65e5\u672c\u8a9e",
        "\ud55c\uad6d\uc5b4",
        "\u3042",
        "\u0627\u0644",
        "\u05e9\u05dc",
        "\u0928\u092e",
    ),
    *(
        "\U0001f600",
        "\U0001f469\u200d\U0001f4bb",
        "\U0001f44d\U0001f3fd",
        "\U0001f1eb\U0001f1f7",
        "\U00010400",
        "\U000e0041",
    ),
)


def strings(number: int, seed: int) -> Iterator[str]:
    """Yield strings of up to a few hundred characters: any character, neighbours in a script, awkward pieces, runs."""
    made = random.Random(seed)

    def anything() -> str:
        point = made.randrange(LAST + 1 - len(SURROGATES))
        return chr(point if point < SURROGATES.start else point + len(SURROGATES))

    def neighbours() -> str:
        start = made.choice((0x20, 0xA0, 0x370, 0x590, 0x900, 0xE00, 0x1100, 0x2000, 0x3040, 0x4E00, 0xAC00, 0x1F300))
        return "".join(chr(start + made.randrange(96)) for _ in range(made.randrange(1, 12)))

    def ascii_word() -> str:
        return "".join(made.choices("abcdefghijklmnopqrstuvwxyzABCDEFXYZ019 .,'", k=made.randrange(1, 24)))

    def run() -> str:
        return made.choice(PIECES) * made.randrange(1, 70)

    makers: tuple[Callable[[], str], ...] = (
        anything,
        neighbours,
        ascii_word,
        run,
        lambda: made.choice(PIECES),
        lambda: made.choice(PIECES),
    )
    for _ in range(number):
        yield "".join(made.choice(makers)() for _ in range(made.randrange(1, 14)))


def differences(texts: list[str], encodings: dict[str, tiktoken.Encoding]) -> Iterator[tuple[str, str]]:
    """Yield the encoding and the text wherever an answer is not tiktoken's."""
    for name, judge in encodings.items():
        batch = turnfold.count_many(texts, name)
        for whole, within in zip(texts, batch, strict=True):
            ids = judge.encode_ordinary(whole)
            counts = {within, turnfold.count(whole, name), turnfold.count(whole, name)}
            if counts != {len(ids)} or _core.encode(whole, name) != ids:
                yield name, whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strings", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        encodings = tiktoken_encodings(Path(folder))
    batch: list[str] = []
    seen = 0

    def judge() -> None:
        for name, whole in differences(batch, encodings):
            print(f"{name}: {whole!r}", file=sys.stderr)
            sys.exit(1)
        batch.clear()

    for made in strings(options.strings, options.seed):
        batch.append(made)
        seen += 1
        if len(batch) == 1_000:
            judge()
    judge()
    print(f"{seen} strings, {len(encodings)} encodings: all equal", flush=True)
    if options.texts:
        size = 0
        for whole in (*(text(kind) for kind in KINDS), *map(neutral, recordings())):
            batch.append(whole)
            size += len(whole.encode("utf-8", "replace"))
            judge()
        print(f"{size / 1e6:.0f} MB of texts: all equal")


if __name__ == "__main__":
    main()
