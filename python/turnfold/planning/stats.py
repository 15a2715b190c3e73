"""What a session's compactions come to."""

from collections.abc import Iterable

from turnfold.model.plan import Skip
from turnfold.model.price import Price
from turnfold.model.report import SessionStats
from turnfold.model.scan import BODY_ONLY
from turnfold.model.summary import NO_USAGE
from turnfold.model.triggers import TurnUnit
from turnfold.planning.apply import CompactionResult
from turnfold.planning.ground import Ground
from turnfold.planning.record import turns_of
from turnfold.transcript import Transcript


def stats(
    transcript: Transcript,
    outcomes: Iterable[CompactionResult | Skip] = (),
    *,
    price: Price | None = None,
    unit: TurnUnit = "user",
) -> SessionStats:
    """Sum up a session: its `transcript` as it stands, and what its compactions came to, skips among them.

    Turns and summaries are read from the transcript, the rest from `outcomes`. O(messages).
    """
    ground = Ground(transcript, BODY_ONLY)
    results = [one for one in outcomes if isinstance(one, CompactionResult)]
    before = sum(one.before.n for one in results)
    saved = before - sum(one.after.n for one in results)
    usage = sum((one.usage for one in results), NO_USAGE)
    return SessionStats(
        turns=turns_of(ground, unit),
        summaries=sum(summary.version for summary in ground.summaries.values()),
        compactions=len(results),
        saved_tokens=saved,
        compression=saved / before if before else 0.0,
        usage=usage,
        cost=None if price is None else price.of(usage),
    )
