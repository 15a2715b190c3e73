"""What a compaction reports beside the transcript."""

from typing import Literal

import msgspec

AttemptOutcome = Literal["used", "cut_to_cap", "empty", "longer_than_source", "no_heading", "failed", "deadline"]
"""How one try of one summarizer ended.

`used`; `cut_to_cap`: used, after its text was cut to the cap; `empty`: nothing but white space; `longer_than_source`:
not shorter than what it replaces; `no_heading`: without the heading that its schema asks for; `failed`: it raised;
`deadline`: the time was up before it answered.
"""

TaskKept = Literal["message", "verbatim", "clipped", "dropped", "absent"]
"""What became of the first user message: the message itself stays, the summary quotes it whole, the summary quotes its
head and tail, it went with what was dropped, or there was none."""


class Attempt(msgspec.Struct, frozen=True):
    """One try of one summarizer for a hole of the plan, which are numbered from 0: how it ended, and for a failure what
    was raised.
    """

    method: str
    outcome: AttemptOutcome
    hole: int
    detail: str = ""


class IdentifierReport(msgspec.Struct, frozen=True):
    """Identifiers of what was replaced or shortened: which the result still holds, which it lost; and which of the
    summary stand nowhere in the input.
    """

    kept: tuple[str, ...]
    lost: tuple[str, ...]
    new: tuple[str, ...]


class Timings(msgspec.Struct, frozen=True):
    """Seconds spent, by phase, on the wall clock."""

    plan_seconds: float
    summarize_seconds: float
    apply_seconds: float
