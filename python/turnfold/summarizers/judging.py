"""A reply judged, off the event loop where that takes long."""

from typing import Final

from turnfold.model.judgement import ReplyPolicy
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.prompts.judge import Verdict, judge
from turnfold.summarizers.threads import in_thread

OFFLOADED_TOKENS: Final = 5_000
"""A reply to so much source is judged in a thread: a megabyte takes a hundred milliseconds."""


async def judged(reply: SummaryReply, request: SummaryRequest, policy: ReplyPolicy) -> Verdict:
    """Judge a reply; in a thread where its source is long enough to hold up the event loop."""
    if request.source_tokens < OFFLOADED_TOKENS:
        return judge(reply, request, policy)
    return await in_thread(judge, reply, request, policy)
