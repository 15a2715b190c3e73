"""Which summaries somebody is asked for."""

from turnfold.model.plan import CompactionPlan
from turnfold.model.summary import SummaryRequest
from turnfold.planning.fill import openings
from turnfold.planning.request import summary_request
from turnfold.prompts.schemas import schema_named
from turnfold.transcript import Transcript


def is_asked(request: SummaryRequest) -> bool:
    """Whether a summarizer is asked at all; if not, the summary is by rule."""
    return schema_named(request.schema).style != "marker" and not request.by_rule


def requests_of(transcript: Transcript, plan: CompactionPlan) -> tuple[SummaryRequest, ...]:
    """Return what a summarizer would be asked to carry out a plan: one request a summary, however many pieces it takes.

    Raises `PlanMismatchError` for a plan of another transcript.
    """
    requests = (summary_request(transcript, opening) for opening in openings(transcript, plan))
    return tuple(request for request in requests if is_asked(request))
