"""A summary that needs nobody: by rule, and where that does not fit a marker."""

from typing import Final

from turnfold.model.judgement import BY_RULE
from turnfold.model.result import Attempt
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.summarizers.marker import Marker
from turnfold.summarizers.rules import Rules

_WRITERS: Final = (Rules(), Marker())


def write_by_rule(hole: int, request: SummaryRequest, attempts: list[Attempt]) -> tuple[str, SummaryReply]:
    """Return a summary made by rule, or a marker where that cannot be used, and whose it is; add to `attempts`."""
    # Its patterns are slow to load, and many policies leave no hole to fill.
    from turnfold.prompts.judge import judge

    for writer in _WRITERS:
        try:
            verdict = judge(SummaryReply(writer.write(request)), request, BY_RULE)
        except Exception as error:  # noqa: BLE001  # a fault in the rules must not cost a turn: the marker is left
            attempts.append(Attempt(writer.name, "failed", hole, f"{type(error).__name__}: {error}"))
            continue
        attempts.append(Attempt(writer.name, verdict.outcome, hole))
        if verdict.text is not None:
            return writer.name, SummaryReply(verdict.text)
    # The plan left room for a marker; a request made by hand may not have.
    return Marker().name, SummaryReply(Marker().write(request))
