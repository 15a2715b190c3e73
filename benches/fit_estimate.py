"""Fit the weights of `turnfold.estimate`, and say how far off they are on what they were not fitted on.

    pip download --no-deps -d WHEELS Django==5.1.4 ckan==2.12.0 ...     (estimate_data.PINNED)
    python benches/fit_estimate.py WHEELS > rust/turnfold-tokens/src/estimate/weights.rs
    python benches/fit_estimate.py WHEELS --left-out

The first writes the weights; the second leaves each language, and then each source, out of the fit and prints the
errors on it as Markdown. Needs numpy and cargo: the conditions are counted by the Rust code itself. Some four minutes.

The fit is a ridge regression on relative errors, re-weighted so that far texts weigh less (towards least absolute
errors), for both vocabularies on the same conditions. Which pairs and triples of letters are counted is chosen by
taking out, one by one, the one that adds least.
"""

import argparse
import re
import struct
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from estimate_data import Document, documents

import turnfold

ROOT = Path(__file__).parent.parent
SCRIPTS = 207
"""Conditions of text outside ASCII, the last of each row; `SCRIPTS` in features.rs."""

UNIT = 4_096

RANDOM_SHARE = 0.1
"""What a text of random letters weighs beside one of a language."""

SEQUENCES_KEPT = 140
ENCODINGS = ("o200k_base", "cl100k_base")
SHARES = {"minified": 0.5, "page": 0.7, "code": 0.7, "docstrings": 0.8}
"""What a text of a kind weighs in the fit, where not 1."""

Matrix = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


def conditions(texts: Sequence[str], *arguments: str) -> Matrix:
    """Count each condition in each text."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    command = ["cargo", "run", "-q", "--release", "-p", "turnfold-tokens", "--example", "estimate_conditions", "--"]
    rows = subprocess.run(
        [*command, *arguments],
        cwd=ROOT,
        input=b"".join(struct.pack("<I", len(text)) + text for text in encoded),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    return np.frombuffer(rows, np.uint32).reshape(len(texts), -1).astype(np.float64)


def frequent(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the most frequent triples of letters, and those at the start of a word."""
    triples: Counter[str] = Counter()
    openings: Counter[str] = Counter()
    for text in texts[::5]:
        for word in re.findall(r"[a-z]{3,}", text[:3_000].lower()):
            triples.update(word[k : k + 3] for k in range(len(word) - 2))
            openings[word[:3]] += 1
    return [t for t, _ in triples.most_common(220)], [t for t, _ in openings.most_common(80)]


class Fit:
    """The equations of one vocabulary: one a text."""

    def __init__(self, counted: Matrix, tokens: Matrix, shares: Matrix) -> None:
        self.tokens = tokens
        self.scale = 1 / np.maximum(tokens, 100)
        self.rows = counted * self.scale[:, None]
        self.aims = tokens * self.scale
        self.shares = shares.copy()
        sizes = np.sqrt((self.rows**2).mean(axis=0))
        self.ridge = 1e-4 * len(tokens) * np.median(sizes[sizes > 0]) ** 2

    def normal(self, chosen: Matrix | slice = slice(None)) -> tuple[Matrix, Matrix]:
        """Return the matrix and the right side of the equations of some texts, without the ridge."""
        weighed = self.rows[chosen] * self.shares[chosen, None]
        return weighed.T @ self.rows[chosen], weighed.T @ self.aims[chosen]

    def solve(self, matrix: Matrix, side: Matrix) -> Matrix:
        return np.linalg.solve(matrix + self.ridge * np.eye(len(side)), side)

    def reweigh(self, rounds: int = 3) -> None:
        """Let far texts weigh less."""
        first = self.shares.copy()
        for _ in range(rounds):
            weights = self.solve(*self.normal())
            far = np.abs(self.rows @ weights - self.aims)
            self.shares = first / np.maximum(far, 0.01)
            self.shares *= first.sum() / self.shares.sum()

    def with_scripts(self, weights: Matrix, random: Flags) -> Matrix:
        """Fit the weights of other scripts again, with texts of random letters; those of ASCII text stay.

        Most scripts have no text in any package, and a language leaves out combinations that another writes. What
        random letters cost keeps their weights from being anything at all.
        """
        shares = np.where(random, RANDOM_SHARE, self.shares)
        rows = self.rows[:, -SCRIPTS:]
        rest = self.aims - self.rows[:, :-SCRIPTS] @ weights[:-SCRIPTS]
        weighed = rows.T * shares
        fitted = self.solve(weighed @ rows, weighed @ rest)
        return np.concatenate([weights[:-SCRIPTS], fitted])


def chosen_sequences(fits: Sequence[Fit], shapes: int, kept: int) -> list[int]:
    """Return the columns that stay: of the sequences, the `kept` ones that add most."""
    columns = fits[0].rows.shape[1]
    inverses, weights = [], []
    for fit in fits:
        matrix, side = fit.normal()
        inverses.append(np.linalg.inv(matrix + fit.ridge * np.eye(columns)))
        weights.append(inverses[-1] @ side)
    alive = np.ones(columns, bool)
    sequences = np.zeros(columns, bool)
    sequences[shapes : columns - SCRIPTS] = True
    for _ in range(int(sequences.sum()) - kept):
        adds = sum(w**2 / np.maximum(np.diag(p), 1e-30) for w, p in zip(weights, inverses, strict=True))
        least = int(np.argmin(np.where(alive & sequences, adds, np.inf)))
        alive[least] = False
        for weight, inverse in zip(weights, inverses, strict=True):
            column = inverse[:, least].copy()
            np.subtract(weight, column * (weight[least] / column[least]), out=weight)
            np.subtract(inverse, np.outer(column, column) / column[least], out=inverse)
            inverse[least, :] = inverse[:, least] = weight[least] = 0
    return [int(k) for k in np.flatnonzero(alive)]


def whole(weights: Matrix) -> Matrix:
    """Weights as they are written: whole parts of a token."""
    return np.clip(np.rint(weights * UNIT), -32_768, 32_767)


def spread(errors: Matrix, tokens: Matrix) -> tuple[int, int]:
    """Return thousandths of the count, and tenths of its root, that hold 99 of 100 texts."""
    parts = int(np.ceil(1_000 * np.quantile(np.abs(errors[tokens > 2_000] / tokens[tokens > 2_000]), 0.97)))
    over = np.abs(errors) - tokens * parts / 1_000 - 2
    return parts, max(1, int(np.ceil(10 * np.quantile(over / np.sqrt(np.maximum(tokens, 1)), 0.99))))


def write(sequences: Sequence[list[str]], bound: tuple[int, int], tables: dict[str, Matrix]) -> None:
    """Print the Rust table, with the pairs, triples and openings."""
    pairs, triples, openings = sequences
    print("//! The weights of the estimate, and the sequences of letters that are counted.")
    print("//!")
    print("//! Written by `python benches/fit_estimate.py WHEELS`, which says where the texts come from. Do not edit.")
    for name, about, size, words in (
        ("PAIRS", "Pairs of letters.", 2, pairs),
        ("TRIPLES", "Three letters.", 3, triples),
        ("OPENINGS", "Three letters that begin a word after a space.", 3, openings),
    ):
        print(f"\n/// {about}\n#[rustfmt::skip]\npub(super) const {name}: &[[u8; {size}]] = &[")
        _print_rows(["[" + ", ".join(str(ord(c) - 97) for c in word) + "]" for word in words])
        print("];")
    print("\n/// Thousandths of the count and tenths of its root: what holds 99 of 100 texts of a source left out.")
    print(f"pub(super) const SPREAD: (u64, u64) = ({bound[0]}, {bound[1]});")
    for name, weights in tables.items():
        print(f"\n/// `{name}`, in 1/{UNIT} token.\n#[rustfmt::skip]")
        print(f"pub(super) static {name.split('_')[0].upper()}: [i16; {len(weights)}] = [")
        _print_rows([f"{weight:.0f}" for weight in weights])
        print("];")


def _print_rows(items: list[str]) -> None:
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > 120:
            print(line)
            line = "   "
        line += f" {item},"
    print(line)


Left = dict[str, dict[str, tuple[int, float, float]]]
"""By group and vocabulary: texts judged, mean absolute and mean error in percent."""


def left_out(found: Sequence[Document], fits: dict[str, Fit], group_of: Callable[[Document], str | None]) -> Left:
    """Fit without each group and judge on it: its texts of over 200 tokens."""
    members: dict[str, list[int]] = defaultdict(list)
    for index, document in enumerate(found):
        if group := group_of(document):
            members[group].append(index)
    table: Left = defaultdict(dict)
    for name, fit in fits.items():
        matrix, side = fit.normal()
        for group, rows in members.items():
            chosen = np.array(rows)
            part, part_side = fit.normal(chosen)
            weights = fit.solve(matrix - part, side - part_side)
            judged = chosen[fit.tokens[chosen] > 200]
            if len(judged) >= 8:
                errors = 100 * (fit.rows[judged] @ weights / fit.aims[judged] - 1)
                table[group][name] = len(judged), float(np.abs(errors).mean()), float(errors.mean())
    return table


def language(document: Document) -> str | None:
    """The language of prose, without its country."""
    if document.kind not in ("prose", "catalogue", "json") or document.language == "json":
        return None
    return re.split(r"[-_@]", document.language)[0] if "atn" not in document.language else document.language


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--left-out", action="store_true", help="print the errors on languages and sources left out")
    args = parser.parse_args()
    found = list(documents(args.wheels))
    texts = [document.text for document in found]
    triples, openings = frequent(texts)
    counted = conditions(texts, "candidates", "".join(triples), "".join(openings))
    random = np.array([document.kind == "script" for document in found])
    shares = np.array([0.0 if document.kind == "script" else SHARES.get(document.kind, 1.0) for document in found])
    tokens = {name: np.array(turnfold.count_many(texts, name), float) for name in ENCODINGS}
    shapes = counted.shape[1] - 26 * 26 - len(triples) - len(openings) - SCRIPTS
    names = [a + b for a in "abcdefghijklmnopqrstuvwxyz" for b in "abcdefghijklmnopqrstuvwxyz"] + triples + openings
    columns = chosen_sequences([Fit(counted, tokens[name], shares) for name in ENCODINGS], shapes, SEQUENCES_KEPT)
    kept = [k - shapes for k in columns if shapes <= k < counted.shape[1] - SCRIPTS]
    fits = {name: Fit(counted[:, columns], tokens[name], shares) for name in ENCODINGS}
    for fit in fits.values():
        fit.reweigh()
    by_source = left_out(found, fits, lambda d: d.source if d.source != "made" else f"made: {d.kind}")
    if args.left_out:
        for title, table in (("language", left_out(found, fits, language)), ("source", by_source)):
            print(f"| {title} left out | texts | o200k_base | cl100k_base |\n|---|---:|---:|---:|")
            for group, row in sorted(table.items()):
                cells = (f"{row[name][1]:.1f} ({row[name][2]:+.1f})" if name in row else "" for name in ENCODINGS)
                print(f"| {group} | {max(cell[0] for cell in row.values())} | {' | '.join(cells)} |")
        return 0
    tables = {name: whole(fit.with_scripts(fit.solve(*fit.normal()), random)) for name, fit in fits.items()}
    bounds = [spread(*_errors_of_sources(found, fit)) for fit in fits.values()]
    cuts = (26 * 26, 26 * 26 + len(triples))
    write(
        (
            [names[k] for k in kept if k < cuts[0]],
            [names[k] for k in kept if cuts[0] <= k < cuts[1]],
            [names[k] for k in kept if k >= cuts[1]],
        ),
        (max(b[0] for b in bounds), max(b[1] for b in bounds)),
        tables,
    )
    for name, fit in fits.items():
        judged = (fit.tokens > 200) & ~random
        errors = np.abs(fit.rows[judged] @ (tables[name] / UNIT) / fit.aims[judged] - 1)
        print(f"{name}: {len(found)} texts, {100 * errors.mean():.2f} % on those fitted", file=sys.stderr)
    return 0


def _errors_of_sources(found: Sequence[Document], fit: Fit) -> tuple[Matrix, Matrix]:
    """Errors in tokens of each text, by a fit without its source; random letters of scripts are left out."""
    matrix, side = fit.normal()
    errors = np.zeros(len(found))
    sources = np.array([d.source if d.source != "made" else f"made: {d.kind}" for d in found])
    for source in sorted(set(sources)):
        chosen = np.flatnonzero(sources == source)
        part, part_side = fit.normal(chosen)
        weights = fit.solve(matrix - part, side - part_side)
        errors[chosen] = fit.rows[chosen] @ weights / fit.scale[chosen] - fit.tokens[chosen]
    used = (sources != "made: script") & (fit.tokens > 0)
    return errors[used], fit.tokens[used]


if __name__ == "__main__":
    sys.exit(main())
