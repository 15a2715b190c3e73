"""Your own function as a summarizer."""

from collections.abc import Awaitable, Callable

from turnfold.model.summary import SummaryReply, SummaryRequest


class Function:
    """Calls an async function that returns the summary's text, or a whole `SummaryReply`."""

    def __init__(
        self, function: Callable[[SummaryRequest], Awaitable[str | SummaryReply]], *, name: str = "function"
    ) -> None:
        self._function = function
        self._name = name

    @property
    def name(self) -> str:
        """What results call it."""
        return self._name

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Call the function."""
        reply = await self._function(request)
        return reply if isinstance(reply, SummaryReply) else SummaryReply(reply)
