"""What a summarizer is."""

from typing import Final, Protocol, runtime_checkable

from turnfold.model.summary import SummaryReply, SummaryRequest

DEADLINE_SECONDS: Final = 60.0
"""How long a summarizer is waited for where the caller does not say: long for a model, short for a stuck socket."""


@runtime_checkable
class Summarizer(Protocol):
    """Anything with a name and an `async def summarize`: from a request to a text.

    It may raise, answer nothing or take too long: the compactor then asks the next one. What it raises is best a
    `SummarizerError`, which says whether asking again makes sense. It must let cancellation through, and must not block
    the event loop (`Function` runs a blocking function in a thread).

    A summarizer may have more to say of itself, in attributes that need not be there: `window_tokens`, how many tokens
    its model takes, the reply included; `reserve_tokens`, how many of them are left for the reply and for reasoning
    (where it says nothing: the cap on the reply, a quarter of the window at most); `model`, by whose count a request
    must fit the window; `timeout_seconds` for one try; `tries`, how often it may be asked for one summary;
    `reply_policy`, how its replies are judged; `appends`, that it sends `SummaryRequest.live` where there is one.
    """

    @property
    def name(self) -> str:
        """What results call it."""

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Write the summary: at most `request.max_tokens` tokens of plain text."""


def window_of(summarizer: Summarizer) -> int | None:
    """How many tokens a summarizer's model takes, the reply included; None where it says nothing."""
    window: int | None = getattr(summarizer, "window_tokens", None)
    return window


def reserve_of(summarizer: Summarizer) -> int | None:
    """How many tokens of the window it wants left for its reply; None where it says nothing."""
    reserve: int | None = getattr(summarizer, "reserve_tokens", None)
    return reserve


def model_of(summarizer: Summarizer) -> str | None:
    """The name of its model; None where it says nothing."""
    model: object = getattr(summarizer, "model", None)
    return model if isinstance(model, str) else None


def appends(summarizer: Summarizer) -> bool:
    """Whether it wants to send the live request with what is asked for behind it, rather than a quotation."""
    return getattr(summarizer, "appends", False) is True
