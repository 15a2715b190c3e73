"""A chain whose members see no text before it was redacted."""

from typing import Final

from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.prompts.redact import Redact, redacted
from turnfold.summarizers.fallback import Fallback
from turnfold.summarizers.marker import Marker
from turnfold.summarizers.member import Member
from turnfold.summarizers.protocol import Summarizer
from turnfold.summarizers.rules import Rules
from turnfold.summarizers.threads import in_thread

OFFLOADED_TOKENS: Final = 5_000
"""A request with so much source is redacted in a thread."""


class Redacting(Fallback):
    """The chain `summarizer`, to whose members `redact` is applied to every text of a request first.

    `Rules` and `Marker` write in this process and see all. Replies are judged against the whole request: names that
    were hidden are put in by repair, here, without having left. What `redact` raises is a failed call, so nothing is
    sent then.
    """

    def __init__(self, summarizer: Summarizer, redact: Redact) -> None:
        members = Fallback(summarizer).members
        super().__init__(*(_hidden(member, redact) for member in members))


class _Hidden:
    def __init__(self, summarizer: Summarizer, redact: Redact) -> None:
        self._summarizer = summarizer
        self._redact = redact

    def __getattr__(self, name: str) -> object:
        """What the summarizer says of itself: its window, its model."""
        return getattr(self._summarizer, name)

    @property
    def name(self) -> str:
        return str(getattr(self._summarizer, "name", type(self._summarizer).__name__))

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        if request.source_tokens < OFFLOADED_TOKENS:
            shown = redacted(request, self._redact)
        else:
            shown = await in_thread(redacted, request, self._redact)
        return await self._summarizer.summarize(shown)


def _hidden(member: Member, redact: Redact) -> Member:
    if isinstance(member.summarizer, Rules | Marker):
        return member
    return Member(_Hidden(member.summarizer, redact), member.timeout_seconds, member.tries, member.policy)
