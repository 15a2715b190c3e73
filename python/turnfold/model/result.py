"""What a compaction hands back."""

import msgspec

from turnfold.model.counts import TokenCount
from turnfold.model.findings import Finding
from turnfold.model.plan import CompactionPlan
from turnfold.model.prefix import PrefixReport
from turnfold.model.summary import Usage


class IdentifierReport(msgspec.Struct, frozen=True):
    """Identifiers of the replaced messages: which the result still holds, which it lost, which are new in it."""

    kept: tuple[str, ...]
    lost: tuple[str, ...]
    new: tuple[str, ...]


class Timings(msgspec.Struct, frozen=True):
    """Seconds spent, by phase."""

    plan_seconds: float
    summarize_seconds: float
    apply_seconds: float


class Attempt(msgspec.Struct, frozen=True):
    """One try of one summarizer: `outcome` is "used" or the named reason why the next one was asked."""

    method: str
    outcome: str
