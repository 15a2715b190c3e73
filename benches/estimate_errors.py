"""How far estimates are off, by kind of content and by language, on texts that nothing was fitted on.

    python benches/estimate_errors.py [--recorded FOLDER] [--wheels WHEELS]

FOLDER holds recorded logs with a `MANIFEST.tsv`, as corpus_table.py reads them: texts of over 200 tokens, each once, at
most 60 of a source and kind. WHEELS holds wheels with translations into many languages that are not in the fit; the
tables in docs/metering.md are of `pip download --no-deps -d WHEELS pretix==2026.8.0 Weblate==5.14.3`. Prints, for each
row and vocabulary, the mean absolute and the mean error in percent, and for recorded texts that of a hundred together
and the share that the interval holds.
"""

import argparse
import random
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from corpus_table import files
from estimate_data import pieces, translated

import turnfold
from turnfold.containers import read_log
from turnfold.errors import ReadError

ENCODINGS = ("o200k_base", "cl100k_base")
LEAST_TOKENS = 200
OF_A_SOURCE = 60
LONGEST = 60_000
KINDS = {"text": "text (prompts, answers)", "tool_call": "tool calls", "tool_result": "tool results"}

Texts = dict[str, list[str]]


def recorded(folder: Path, chance: random.Random) -> Texts:
    """Return the texts of recorded logs by kind of block."""
    seen: set[str] = set()
    by_source: dict[tuple[str, str], list[str]] = defaultdict(list)
    for source, _, data in files(folder):
        try:
            log = read_log(data)
        except ReadError:
            continue
        for logged in log.transcripts:
            for index in range(len(logged.transcript)):
                for block in logged.transcript.blocks(index):
                    text = (block.text or "")[:LONGEST]
                    if len(text) > LEAST_TOKENS and text[:4_000] not in seen:
                        seen.add(text[:4_000])
                        by_source[source, block.kind].append(text)
    texts: Texts = defaultdict(list)
    for (_, kind), found in sorted(by_source.items()):
        long = [text for text in found if turnfold.count_up_to(text, LEAST_TOKENS) is None]
        texts[KINDS.get(kind, kind)].extend(chance.sample(long, min(len(long), OF_A_SOURCE)))
    return texts


def prose(wheels: Path, chance: random.Random) -> Texts:
    """Return what the wheels' catalogues say in each language."""
    texts: Texts = defaultdict(list)
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(archive.namelist()):
                if match := re.search(r"/([A-Za-z_@]+)/LC_MESSAGES/\w+\.po$", name):
                    found = "\n".join(translated(archive.read(name).decode()))
                    texts[match[1]].extend(pieces(found, chance))
    return texts


def row(title: str, texts: Sequence[str], *, together: bool) -> str | None:
    """Return one row of a table, or nothing where there is too little to judge."""
    cells = []
    for encoding in ENCODINGS:
        exact = dict(zip(texts, turnfold.count_many(texts, encoding), strict=True))
        judged = [text for text in texts if exact[text] > LEAST_TOKENS]
        if len(judged) < 8:
            return None
        found = [turnfold.estimate(text, encoding) for text in judged]
        errors = [100 * (estimate.n / exact[text] - 1) for estimate, text in zip(found, judged, strict=True)]
        size, lean = sum(map(abs, errors)) / len(errors), sum(errors) / len(errors)
        cell = f"{size:.1f} ({lean:+.1f})"
        if together:
            order = random.Random(1)
            sums = []
            for _ in range(200):
                chosen = order.sample(range(len(judged)), min(100, len(judged)))
                whole = sum(exact[judged[k]] for k in chosen)
                sums.append(abs(100 * (sum(found[k].n for k in chosen) / whole - 1)))
            inside = sum(e.lo <= exact[text] <= e.hi for e, text in zip(found, judged, strict=True))
            cell += f" | {sum(sums) / len(sums):.1f} | {100 * inside / len(judged):.1f}"
        cells.append(cell)
    return f"| {title} | {len(judged)} | {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", type=Path, metavar="FOLDER")
    parser.add_argument("--wheels", type=Path)
    args = parser.parse_args()
    if args.recorded:
        texts = recorded(args.recorded, random.Random(1))
        capitals = [text.upper() for text in texts[KINDS["text"]]]
        columns = " | ".join(f"`{name}` | of 100 | inside" for name in ENCODINGS)
        print(f"| recorded | texts | {columns} |\n|---|---:|{'---:|' * 3 * len(ENCODINGS)}")
        print(row("all", [text for found in texts.values() for text in found], together=True))
        for kind, found in sorted(texts.items()):
            if line := row(kind, found, together=True):
                print(line)
        if line := row("text, put in capitals", capitals, together=True):
            print(line)
    if args.wheels:
        columns = " | ".join(f"`{name}`" for name in ENCODINGS)
        print(f"\n| language | texts | {columns} |\n|---|---:|{'---:|' * len(ENCODINGS)}")
        for code, found in sorted(prose(args.wheels, random.Random(1)).items()):
            if line := row(code, found, together=False):
                print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
