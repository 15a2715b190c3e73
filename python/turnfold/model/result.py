"""What a compaction reports beside the transcript."""

from typing import Literal

import msgspec

from turnfold.errors import CallFault
from turnfold.model.judgement import ReplyFault
from turnfold.model.summary import NO_USAGE, Usage

AttemptOutcome = Literal["used", "cut_to_cap", "repaired", "deadline", "left_behind"] | ReplyFault | CallFault
"""How one try of one summarizer ended.

`used`; `cut_to_cap`: used, after its text was cut to the cap; `repaired`: used, after its faults were mended;
`deadline`: the time of the whole call was up before it answered, or before its turn came; `left_behind`: the same, and
it did not stop when it was told to; the name of a fault of its reply
(`turnfold.model.judgement.ReplyFault`), or of the call that gave none (`turnfold.errors.CallFault`).
"""

TaskKept = Literal["message", "verbatim", "clipped", "dropped", "absent"]
"""What became of the first user message: the message itself stays, the summary quotes it whole, the summary quotes its
head and tail, it went with what was dropped or is no more than a routine for which there was no room, or there was
none."""


class Attempt(msgspec.Struct, frozen=True):
    """One try of one summarizer for a hole of the plan, which are numbered from 0: how it ended, and more on that in
    `detail`. `usage` is what it cost, used or not. `piece` is the number of the piece it was for, from 1; None where it
    was for the whole, or for putting pieces together.
    """

    method: str
    outcome: AttemptOutcome
    hole: int = 0
    detail: str = ""
    usage: Usage = NO_USAGE
    model: str | None = None
    latency_seconds: float | None = None
    piece: int | None = None


class Coverage(msgspec.Struct, frozen=True):
    """How much of what was replaced its summary's writer was shown: `share`, of its tokens.

    It is 1.0, or `reason` says why not: `clipped`: the policy shows results or reasoning in part; `marker`: nobody
    wrote a summary. `pieces` is in how many pieces it was summarised, `by_rule` how many of them were written by rule.
    Attachments, and base64 in texts, are named to a model and not shown; they do not count here.
    """

    share: float = 1.0
    pieces: int = 0
    by_rule: int = 0
    reason: Literal["clipped", "marker"] | None = None


class IdentifierReport(msgspec.Struct, frozen=True):
    """Identifiers of what was replaced or shortened: which the result still holds, which it lost; and which of the
    summary stand nowhere in the input.

    `referenced_later` are those of `kept` that only messages behind the change hold: the work goes on with them, and
    neither the summary nor anything before it says where they came from.
    """

    kept: tuple[str, ...]
    lost: tuple[str, ...]
    new: tuple[str, ...]
    referenced_later: tuple[str, ...] = ()


class Timings(msgspec.Struct, frozen=True):
    """Seconds spent, by phase, on the wall clock, and how long after the deadline the outcome came, on the event
    loop's.
    """

    plan_seconds: float
    summarize_seconds: float
    apply_seconds: float
    overshoot_seconds: float = 0.0
