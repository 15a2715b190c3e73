"""A summarizer within limits: requests and tokens a minute, and money."""

from typing import Final

from turnfold import meter
from turnfold.errors import CallFault, SummarizerError
from turnfold.model.summary import NO_USAGE, SummaryReply, SummaryRequest, Usage
from turnfold.summarizers.protocol import Summarizer, appends
from turnfold.summarizers.rate_limit import RateLimit
from turnfold.summarizers.spending import SpendCap
from turnfold.summarizers.wrapping import Wrapping

_INSTRUCTION_TOKENS: Final = 600
_NOT_SERVED: Final[frozenset[CallFault]] = frozenset({"rate_limited", "rejected", "too_long", "busy", "spend_cap"})


class Limited(Wrapping):
    """Calls `summarizer` as often as `rate` and `spend` allow. Both may be shared by several summarizers.

    What a call will use is estimated from the request and settled by the usage that comes back. A call of which nobody
    knows whether it was served (a timeout, a connection that broke) counts with its input. Where the server answers
    with a rate limit and says how long it lasts, nobody else who shares `rate` goes before.
    """

    def __init__(self, summarizer: Summarizer, *, rate: RateLimit | None = None, spend: SpendCap | None = None) -> None:
        super().__init__(summarizer)
        self._rate = rate
        self._spend = spend

    @property
    def appends(self) -> bool:
        """Whether it sends the live request."""
        return appends(self._inner)

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Wait for room, then call."""
        most = most_used(request)
        reserved = 0.0 if self._spend is None else self._spend.reserve(most)
        used = NO_USAGE
        taken = False
        try:
            if self._rate is not None:
                await self._rate.take(most.total_tokens)
                taken = True
            used = Usage(prompt_tokens=most.prompt_tokens)
            try:
                reply = await self._inner.summarize(request)
            except SummarizerError as error:
                if error.reason in _NOT_SERVED:
                    used = NO_USAGE
                if error.reason == "rate_limited" and error.retry_after_seconds and self._rate is not None:
                    self._rate.pause(error.retry_after_seconds)
                raise
            used = _reported(reply.usage) or most
            return reply
        finally:
            if self._rate is not None and taken:
                self._rate.settle(most.total_tokens, used.total_tokens)
            if self._spend is not None:
                self._spend.settle(reserved, used)


def most_used(request: SummaryRequest) -> Usage:
    """What a call uses at most, but for what its model thinks beforehand."""
    live = "" if request.live is None else request.live.decode("utf-8", "replace")
    texts = filter(None, (request.task, request.previous, live, *request.partials))
    beside = sum(meter.count_many(texts, request.encoding))
    # Names are listed for no more than the answer can hold.
    prompt = request.source_tokens + beside + request.max_tokens + _INSTRUCTION_TOKENS
    return Usage(prompt_tokens=prompt, completion_tokens=request.max_tokens)


def _reported(usage: object) -> Usage | None:
    """Return a usage that says something."""
    return usage if isinstance(usage, Usage) and usage != NO_USAGE else None
