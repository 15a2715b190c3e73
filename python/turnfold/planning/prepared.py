"""A plan with all that it takes to carry it out, but for the summaries."""

from time import perf_counter

import msgspec

from turnfold.model.plan import CompactionPlan, Skip
from turnfold.model.policy import Policy
from turnfold.model.scan import ScanOptions
from turnfold.model.state import PlanState
from turnfold.model.summary import SummaryRequest
from turnfold.planning.fill import Opening, openings, openings_on
from turnfold.planning.ground import Ground
from turnfold.planning.measure import Measure
from turnfold.planning.plan import plan_on
from turnfold.planning.request import summary_request
from turnfold.transcript import Transcript, kernel_of


class Prepared(msgspec.Struct, frozen=True):
    """A plan with its holes opened and what their summarizers are asked, and the seconds that took."""

    transcript: Transcript
    plan: CompactionPlan
    opened: tuple[Opening, ...]
    requests: tuple[SummaryRequest, ...]
    seconds: float

    @classmethod
    def of(
        cls,
        transcript: Transcript,
        planned: CompactionPlan,
        opened: tuple[Opening, ...],
        started: float,
        *,
        by_rule: bool,
    ) -> "Prepared":
        """Make the requests of what is open. O(bytes that go)."""
        requests = tuple(summary_request(transcript, opening, by_rule=by_rule) for opening in opened)
        return cls(transcript, planned, opened, requests, perf_counter() - started)


def prepare(
    transcript: Transcript,
    policy: Policy,
    *,
    by_rule: bool,
    encoding: str | None,
    model: str | None,
    window_tokens: int | None,
    options: ScanOptions,
    state: PlanState,
) -> Prepared | Skip:
    """Plan, and open the holes on the ground and by the measure of the plan. `by_rule` is as in `summary_request`.

    O(bytes). Raises what `plan` does.
    """
    started = perf_counter()
    kernel_of(transcript)
    ground, measure = Ground(transcript, options), Measure(transcript, encoding, model, policy.fit)
    planned = plan_on(ground, measure, policy, encoding=encoding, model=model, window_tokens=window_tokens, state=state)
    if isinstance(planned, Skip):
        return planned
    return Prepared.of(transcript, planned, openings_on(ground, measure, planned), started, by_rule=by_rule)


def prepare_again(transcript: Transcript, planned: CompactionPlan) -> Prepared:
    """Open the holes of a plan that was made before, for summaries by rule.

    Raises `PlanMismatchError` for a plan of another transcript.
    """
    started = perf_counter()
    return Prepared.of(transcript, planned, openings(transcript, planned), started, by_rule=True)
