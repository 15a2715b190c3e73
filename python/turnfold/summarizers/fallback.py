"""Several summarizers, asked in order until one gives a reply that can be used."""

from collections.abc import Callable
from typing import Final

import anyio
import msgspec

from turnfold.errors import NoSummaryError
from turnfold.model.result import AttemptOutcome
from turnfold.model.summary import SummaryReply, SummaryRequest, Usage
from turnfold.prompts.judge import judge
from turnfold.summarizers.protocol import Summarizer

Report = Callable[[str, AttemptOutcome, str], None]
"""Told of each attempt: whose it was, how it ended, and what it raised."""


class Fallback:
    """Asks each of `summarizers` until one reply is acceptable. Raises `NoSummaryError` where none is.

    A chain of chains is one chain: its members are asked in order.
    """

    def __init__(self, *summarizers: Summarizer) -> None:
        members: list[Summarizer] = []
        for one in summarizers:
            members.extend(one.members if isinstance(one, Fallback) else (one,))
        self.members: Final[tuple[Summarizer, ...]] = tuple(members)
        # A summarizer that forgot its name is still a summarizer.
        self._names = tuple(str(getattr(member, "name", type(member).__name__)) for member in members)

    @property
    def name(self) -> str:
        """What results call it: they name the member whose reply was used."""
        return "fallback"

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Return the first acceptable reply, cut to the cap where it is over."""
        _, reply = await self.ask(request, _silent)
        return reply

    async def ask(self, request: SummaryRequest, report: Report) -> tuple[str, SummaryReply]:
        """Return the first acceptable reply and whose it is; `report` is told of every attempt.

        Cancellation goes through, whatever it is for.
        """
        for name, member in zip(self._names, self.members, strict=True):
            try:
                reply = await member.summarize(request)
                verdict = judge(reply.text, request)
            except anyio.get_cancelled_exc_class():
                report(name, "deadline", "")
                raise
            except Exception as error:  # noqa: BLE001  # whatever a summarizer raises, the next one is asked
                report(name, "failed", f"{type(error).__name__}: {error}")
                continue
            report(name, verdict.outcome, "")
            if verdict.text is not None:
                return name, SummaryReply(verdict.text, _reported(reply.usage))
        raise NoSummaryError(f"No summary came from any of: {', '.join(self._names) or 'nobody'}")


def _reported(usage: object) -> Usage:
    """Return a usage that can be added up: a good text is not lost because its price is not known."""
    try:
        return msgspec.convert(msgspec.to_builtins(usage), Usage)
    except (msgspec.ValidationError, TypeError):
        return Usage()


def _silent(method: str, outcome: AttemptOutcome, detail: str) -> None:
    """Nobody asked."""
