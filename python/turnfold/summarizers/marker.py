"""No summary at all: one line that says so."""

from turnfold.model.judgement import BY_RULE, ReplyPolicy
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.planning.wrapper import MARKER_BODY
from turnfold.prompts.schemas import schema_named


class Marker:
    """Always answers, with one static line. The wrapper around it says how many messages went, and quotes the task."""

    @property
    def name(self) -> str:
        """What results call it."""
        return "marker"

    @property
    def reply_policy(self) -> ReplyPolicy:
        """How its replies are judged."""
        return BY_RULE

    def write(self, request: SummaryRequest) -> str:
        """Return the line: the one of the request's schema, if it has one."""
        schema = schema_named(request.schema)
        if schema.heading is not None:
            return f"{schema.heading}\n{schema.marker or MARKER_BODY}"
        return schema.marker or MARKER_BODY

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Return the line, as a reply."""
        return SummaryReply(self.write(request))
