"""What a scan finds."""

from typing import Literal

import msgspec

from turnfold.model.scan import RuleSeverity

Severity = Literal["error", "warning", "hint"]
Category = Literal["integrity", "order", "content"]


class Finding(msgspec.Struct, frozen=True):
    """One broken rule: a stable code, the provider rule behind it, the place, and what a provider would answer."""

    code: str
    rule: str
    severity: Severity
    category: Category
    message: int | None
    block: int | None
    call_id: str | None
    path: str
    text: str


class Rule(msgspec.Struct, frozen=True):
    """One demand of a provider: the finding code that breaking it has in a wire format, and how bad that is.

    `severity` is the one of a scan without options; `off` is found only where `ScanOptions.severities` says so.
    """

    code: str
    category: Category
    format: str
    rule: str
    severity: RuleSeverity


class Pair(msgspec.Struct, frozen=True, gc=False):
    """A tool call and its result, by message index and block index."""

    call_id: str | None
    call_message: int
    call_block: int
    result_message: int
    result_block: int
    misplaced: bool


class CallPlace(msgspec.Struct, frozen=True, gc=False):
    """One unpaired call or result."""

    call_id: str | None
    message: int
    block: int


class PairCheck(msgspec.Struct, frozen=True):
    """Whether calls and results are whole: how many pairs there are, and every call or result that is in none.

    `orphan_results` includes `repeated_results`, those of a call that has its result already.
    """

    pairs: int
    pending: tuple[CallPlace, ...]
    abandoned_calls: tuple[CallPlace, ...]
    orphan_results: tuple[CallPlace, ...]
    repeated_results: tuple[CallPlace, ...]
    misplaced_results: tuple[CallPlace, ...]

    @property
    def ok(self) -> bool:
        """Whether every call that is not awaited has its result, in its place, and every result its call."""
        return not (self.abandoned_calls or self.orphan_results or self.misplaced_results)


class IntegrityReport(msgspec.Struct, frozen=True):
    """All findings of one transcript. `ok` means that no finding is an error.

    `unknown_kinds` are kinds of block that this version does not know, as the input spells them, with how often each
    occurs: they are kept as they are and bound to their neighbours.
    """

    ok: bool
    findings: tuple[Finding, ...]
    pairs: tuple[Pair, ...]
    pending: tuple[CallPlace, ...]
    orphan_results: tuple[CallPlace, ...]
    abandoned_calls: tuple[CallPlace, ...]
    duplicate_call_ids: tuple[str, ...]
    duplicate_result_ids: tuple[str, ...]
    unknown_kinds: tuple[tuple[str, int], ...] = ()
