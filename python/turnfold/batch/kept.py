"""What a journal keeps of an outcome: the plan and the summaries, of which the transcript gives the rest again."""

import msgspec

from turnfold.errors import JournalError
from turnfold.model.decodable import decodable
from turnfold.model.plan import CompactionPlan, Skip
from turnfold.model.result import Attempt, Coverage, Timings
from turnfold.model.summary import Usage
from turnfold.planning.apply import CompactionResult, apply
from turnfold.transcript import Transcript


class KeptResult(msgspec.Struct, frozen=True, tag="result"):
    """A compaction without its transcripts."""

    plan: CompactionPlan
    texts: tuple[str, ...]
    method: str | None
    usage: Usage
    coverage: Coverage
    attempts: tuple[Attempt, ...]
    timings: Timings


def keep(outcome: CompactionResult | Skip) -> bytes:
    """Return an outcome as data."""
    if isinstance(outcome, Skip):
        return msgspec.json.encode(outcome)
    return msgspec.json.encode(
        KeptResult(
            outcome.plan,
            outcome.texts,
            outcome.method,
            outcome.usage,
            outcome.coverage,
            outcome.attempts,
            outcome.timings,
        )
    )


def kept(data: bytes, transcript: Transcript) -> CompactionResult | Skip:
    """Return the outcome that `transcript` had. No summarizer is asked; O(messages)."""
    try:
        outcome = msgspec.json.decode(data, type=decodable(KeptResult | Skip))
    except msgspec.MsgspecError as error:
        raise JournalError(f"the journal holds what is no outcome: {error}") from None
    if isinstance(outcome, Skip):
        return outcome
    applied = apply(transcript, outcome.plan, outcome.texts)
    if isinstance(applied, Skip):
        return applied
    return CompactionResult.of(
        applied,
        method=outcome.method,
        usage=outcome.usage,
        coverage=outcome.coverage,
        attempts=outcome.attempts,
        timings=outcome.timings,
        texts=outcome.texts,
    )
