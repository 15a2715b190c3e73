"""Cases of the layer `meter`: counts of texts and of whole requests."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from turnfold.errors import TurnfoldError
from turnfold.meter import count, truncate
from turnfold.testing.case_files import (
    WIRE_FORMATS,
    CaseError,
    CaseFile,
    Mismatch,
    Mismatches,
    brief,
    differs,
    given,
    holds,
    shaped,
)
from turnfold.testing.case_texts import ENCODINGS, Relation, Texts, TextSpec, check_relations, named, texts_of
from turnfold.transcript import Transcript

_UNSET = msgspec.UNSET
_Unset = msgspec.UnsetType


class _TextInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    texts: dict[str, str | TextSpec]
    cut_tokens: list[int] | _Unset = _UNSET


class _VariantInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    variants: dict[str, object]


class _Time(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    small: str
    large: str
    max_ratio: float


class _EstimateRatio(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    against: str
    min: float
    max: float
    applies_to: list[str]


class _Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    network: Literal["blocked"]
    home: Literal["read-only"]


class _EachCut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    no_replacement_char: Literal[True]
    is_prefix_of_source: Literal[True]
    count_le_cut: Literal[True]


class _TextExpect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: list[Relation] | _Unset = _UNSET
    exact: dict[str, dict[str, int]] | _Unset = _UNSET
    must_not_raise: Literal[True] | _Unset = _UNSET
    time: _Time | _Unset = _UNSET
    estimate_ratio: _EstimateRatio | _Unset = _UNSET
    environment: _Environment | _Unset = _UNSET
    first_count_under_seconds: float | _Unset = _UNSET
    each_cut: _EachCut | _Unset = _UNSET
    exact_source: str | _Unset = _UNSET  # prose: where the numbers come from


class _VariantRelation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    op: Literal["lt", "le", "eq", "ge", "gt", "near"]
    left: str
    right: str | _Unset = _UNSET
    right_value: float | _Unset = _UNSET
    plus: float = 0
    tolerance: float = 0


class _VariantExpect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    variant_tokens: list[_VariantRelation] | _Unset = _UNSET
    must_not_raise: Literal[True] | _Unset = _UNSET
    invariants: list[str] | _Unset = _UNSET  # prose


def check_meter(case: CaseFile) -> Mismatches:
    """All expectations of one case."""
    if case.format == "text":
        source = shaped(case.input, _TextInput, "input")
        yield from _check_texts(source, shaped(case.expect, _TextExpect, "expect"))
    else:
        variants = shaped(case.input, _VariantInput, "input").variants
        yield from _check_variants(case, variants, shaped(case.expect, _VariantExpect, "expect"))


def _check_texts(source: _TextInput, expect: _TextExpect) -> Mismatches:
    texts = texts_of(source.texts)
    if (source.cut_tokens is _UNSET) != (expect.each_cut is _UNSET):
        raise CaseError("cut_tokens and each_cut go together")
    # The fresh process comes first: it is the one whose first count is timed.
    if expect.environment is not _UNSET or expect.first_count_under_seconds is not _UNSET:
        yield from _check_environment(texts, expect)
    for name, value in given(expect):
        where = f"expect.{name}"
        match value:
            case _Time():
                yield from _check_time(value, texts, where)
            case _EstimateRatio():
                yield from _check_estimate(value, texts, where)
            case _EachCut() if source.cut_tokens is not _UNSET:
                yield from _check_cuts(texts, source.cut_tokens, where)
            case _ if name == "tokens" and expect.tokens is not _UNSET:
                yield from check_relations(expect.tokens, texts, where)
            case _ if name == "exact" and expect.exact is not _UNSET:
                yield from _check_exact(expect.exact, texts, where)
            case _ if name == "must_not_raise":
                yield from _check_quiet(texts, where)
            case _ if name in ("environment", "first_count_under_seconds", "exact_source"):
                continue
            case _:
                raise CaseError(f"{where} is not checked for texts")


def _check_exact(exact: Mapping[str, Mapping[str, int]], texts: Texts, where: str) -> Mismatches:
    for encoding, counts in exact.items():
        for name, expected in counts.items():
            yield from differs(f"{where}.{encoding}.{name}", expected, count(named(texts, name), encoding))


def _check_quiet(texts: Texts, where: str) -> Mismatches:
    for name, text in texts.items():
        for encoding in ENCODINGS:
            try:
                count(text, encoding)
            except (TurnfoldError, ValueError, TypeError) as error:
                yield Mismatch(f"{where}: {name} in {encoding}", "a count", repr(error))


def _check_time(limits: _Time, texts: Texts, where: str) -> Mismatches:
    for encoding in ENCODINGS:
        small = _fastest(named(texts, limits.small), encoding)
        large = _fastest(named(texts, limits.large), encoding)
        if large > limits.max_ratio * small:
            yield Mismatch(
                f"{where} in {encoding}", f"at most {limits.max_ratio:g} times", f"{large / small:.1f} times"
            )


def _fastest(text: str, encoding: str) -> float:
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        count(text, encoding)
        best = min(best, time.perf_counter() - start)
    return best


def _check_estimate(ratio: _EstimateRatio, texts: Texts, where: str) -> Mismatches:
    """Check the estimate made for a format without a public vocabulary, beside the exact count of the same text."""
    for name in ratio.applies_to:
        text = named(texts, name)
        transcript = Transcript.from_messages([{"role": "user", "content": text}], format="anthropic.messages")
        tokens = transcript.tokens(0, 1)
        if tokens.source != "estimate":
            yield Mismatch(f"{where}: {name}", "an estimate", tokens.source)
            continue
        got = tokens.n / count(text, ratio.against)
        if not ratio.min <= got <= ratio.max:
            yield Mismatch(f"{where}: {name}", f"{ratio.min:g} to {ratio.max:g}", f"{got:.2f}")


_FRESH_COUNT = """
import sys, time
def guard(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        raise RuntimeError("network: " + event)
sys.addaudithook(guard)
text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
start = time.perf_counter()
from turnfold.meter import count
tokens = count(text, sys.argv[1])
print(tokens, time.perf_counter() - start)
"""


def _check_environment(texts: Texts, expect: _TextExpect) -> Mismatches:
    """Count in a fresh process that can reach no network and writes nothing to its home."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o555)
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        environment |= {
            "HOME": str(home),
            "USERPROFILE": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        for name, text in texts.items():
            for encoding in ENCODINGS:
                yield from _check_fresh_count(name, text, encoding, environment, expect)
        yield from differs("expect.environment: files in home", [], sorted(p.name for p in home.iterdir()))


def _check_fresh_count(
    name: str, text: str, encoding: str, environment: Mapping[str, str], expect: _TextExpect
) -> Mismatches:
    where = f"expect.environment: {name} in {encoding}"
    done = subprocess.run(  # noqa: S603 - this interpreter, with a program of our own
        [sys.executable, "-c", _FRESH_COUNT, encoding],
        input=text.encode("utf-8", "surrogatepass"),
        capture_output=True,
        check=False,
        env=dict(environment),
    )
    if done.returncode:
        yield Mismatch(where, "a count", brief(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]))
        return
    tokens, seconds = done.stdout.split()
    yield from differs(where, count(text, encoding), int(tokens))
    limit = expect.first_count_under_seconds
    if limit is not _UNSET and float(seconds) >= limit:
        yield Mismatch("expect.first_count_under_seconds", f"under {limit:g}", f"{float(seconds):.1f}")


def _check_cuts(texts: Texts, cuts: list[int], where: str) -> Mismatches:
    for name, text in texts.items():
        for encoding in ENCODINGS:
            for limit in cuts:
                cut = truncate(text, limit, encoding)
                place = f"{where}: {name} cut to {limit} in {encoding}"
                if "\N{REPLACEMENT CHARACTER}" in cut:
                    yield Mismatch(place, "no replacement character", brief(cut))
                if not text.startswith(cut):
                    yield Mismatch(place, "a prefix of the text", brief(cut))
                if count(cut, encoding) > limit:
                    yield Mismatch(place, f"at most {limit} tokens", str(count(cut, encoding)))


def _check_variants(case: CaseFile, variants: Mapping[str, object], expect: _VariantExpect) -> Mismatches:
    counts: dict[str, dict[str, int]] = {}
    for name, variant in variants.items():
        body = variant if isinstance(variant, dict) else {"messages": variant}
        try:
            transcript = Transcript.from_json(msgspec.json.encode(body), format=WIRE_FORMATS[case.format])
            counts[name] = {encoding: transcript.tokens(encoding=encoding).n for encoding in ENCODINGS}
        except TurnfoldError as error:
            yield Mismatch(f"input.variants.{name}", "a count", str(error))
            return
    relations = [] if expect.variant_tokens is _UNSET else expect.variant_tokens
    for k, relation in enumerate(relations):
        for encoding in ENCODINGS:
            yield from _check_variant_relation(relation, counts, encoding, f"expect.variant_tokens[{k}] in {encoding}")


def _check_variant_relation(
    relation: _VariantRelation, counts: Mapping[str, Mapping[str, int]], encoding: str, where: str
) -> Mismatches:
    names = [relation.left] if relation.right is _UNSET else [relation.left, relation.right]
    for name in names:
        if name not in counts:
            raise CaseError(f"{where}: no variant is named {name!r}")
    if relation.right is not _UNSET and relation.right_value is _UNSET:
        base: float = counts[relation.right][encoding]
    elif relation.right is _UNSET and relation.right_value is not _UNSET:
        base = relation.right_value
    else:
        raise CaseError(f"{where}: needs exactly one of right and right_value")
    left = counts[relation.left][encoding]
    if not holds(relation.op, left, base + relation.plus, relation.tolerance):
        yield Mismatch(where, f"{relation.left} {relation.op} {base + relation.plus:g}", str(left))
