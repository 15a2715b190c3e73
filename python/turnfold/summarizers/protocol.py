"""What a summarizer is."""

from typing import Protocol, runtime_checkable

from turnfold.model.summary import SummaryReply, SummaryRequest


@runtime_checkable
class Summarizer(Protocol):
    """Anything with a name and an `async def summarize`: from a request to a text.

    It may raise, answer nothing or take too long: the compactor then asks the next one. It must let cancellation
    through, and must not block the event loop (a blocking client belongs into `anyio.to_thread.run_sync`).
    """

    @property
    def name(self) -> str:
        """What results call it."""

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Write the summary: at most `request.max_tokens` tokens of plain text."""
