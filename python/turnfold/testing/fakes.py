"""Summarizers that do what a test says, one step a call: reply, wait, raise, hang, or refuse to stop."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

import anyio

from turnfold.model.summary import SummaryReply, SummaryRequest

Way = Literal["reply", "raise", "hang", "refuse_to_stop", "return"]

FAR_SECONDS: Final = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one call does, after `seconds`.

    `reply` with `text`; `raise` `error`; `return` whatever `value` is, which no summarizer may; `hang` until it is told
    to stop; `refuse_to_stop`: go on hanging then, too, until the fake is released, or for a quarter of an hour.
    """

    way: Way = "reply"
    text: str = "Done."
    seconds: float = 0.0
    error: BaseException | None = None
    value: object = None


@dataclass(slots=True)
class Scripted:
    """Does one of `steps` a call, in order; the last one again and again.

    `requests` are what it was asked, `in_flight` and `most_in_flight` how many calls run and ran at once, `stopped` how
    many were told to stop before they were done, `refused` how many refused to, and `refusing` how many still do.
    """

    steps: tuple[Step, ...]
    name: str = "scripted"
    window_tokens: int | None = None
    reserve_tokens: int | None = None
    requests: list[SummaryRequest] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    stopped: int = 0
    refused: int = 0
    refusing: int = 0
    _released: bool = False

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Do the next step."""
        step = self.steps[min(len(self.requests), len(self.steps) - 1)]
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._do(step)
        except anyio.get_cancelled_exc_class():
            self.stopped += 1
            raise
        finally:
            self.in_flight -= 1

    def release(self) -> None:
        """Let calls that refused to stop end, within a second of the loop's clock."""
        self._released = True

    async def _do(self, step: Step) -> SummaryReply:
        await anyio.sleep(step.seconds)
        if step.way == "hang":
            await anyio.sleep(FAR_SECONDS)
        if step.way == "refuse_to_stop":
            await self._refuse()
        if step.error is not None:
            raise step.error
        if step.way == "return":
            return step.value  # type: ignore[return-value]  # that is the fault
        return SummaryReply(step.text)

    async def _refuse(self) -> None:
        self.refused += 1
        self.refusing += 1
        try:
            await self._refuse_until_released()
        finally:
            self.refusing -= 1

    async def _refuse_until_released(self) -> None:
        for _ in range(FAR_SECONDS // 10**6):
            if self._released:
                return
            try:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(1)
            except anyio.get_cancelled_exc_class():
                continue


def replying(*texts: str, seconds: float = 0.0, name: str = "scripted") -> Scripted:
    """Return a summarizer that answers with these texts in order, each after so many seconds."""
    return Scripted(tuple(Step(text=text, seconds=seconds) for text in texts), name)


def scripted(steps: Iterable[Step]) -> Scripted:
    """Return a summarizer with these steps."""
    return Scripted(tuple(steps))
