"""Several summarizers, asked in order until one gives a reply that can be used."""

from collections.abc import Callable
from typing import Final, Literal

import anyio
import msgspec
from msgspec import structs

from turnfold.errors import NoSummaryError, SummarizerError
from turnfold.model.decodable import decodable
from turnfold.model.judgement import DEFAULT_REPLY_POLICY, ReplyFault
from turnfold.model.result import Attempt, AttemptOutcome
from turnfold.model.summary import NO_USAGE, SummaryReply, SummaryRequest, Usage
from turnfold.summarizers.deadline import current_deadline, handed_down
from turnfold.summarizers.detached import Detached
from turnfold.summarizers.faults import fault_of
from turnfold.summarizers.judging import judged
from turnfold.summarizers.member import Member
from turnfold.summarizers.protocol import Summarizer, appends, model_of, reserve_of, window_of
from turnfold.summarizers.telling import tell_fell_back, tell_finished, tell_rejected, tell_retried, tell_started

Report = Callable[[Attempt], None]
"""Told of each attempt."""

FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 30.0
"""Waits between tries double from the first to this one, with as much again at random as the first. A server that wants
to be left alone for longer is not asked again."""


class _AgainError(Exception):
    """The same summarizer may be asked again: at once where `fault` says what was wrong with its reply, else after
    `wait_seconds`, or after a wait that grows.
    """

    def __init__(
        self,
        why: str,
        outcome: AttemptOutcome,
        *,
        fault: ReplyFault | None = None,
        wait_seconds: float | None = None,
    ) -> None:
        super().__init__(why)
        self.outcome = outcome
        self.fault = fault
        self.wait_seconds = wait_seconds

    def wait(self) -> float | Literal[True]:
        """What stamina asks: how long to wait, or True for a wait that grows."""
        if self.fault is not None:
            return 0.0
        return True if self.wait_seconds is None else self.wait_seconds


class Fallback:
    """Asks each of `summarizers` until one reply can be used. Raises `NoSummaryError` where none can.

    Each may be a `Member`, which says how long a try of it may take, how often it is asked and how it is judged. Asking
    again is what the reply's policy says (`retry`), and for calls that failed what may pass: timeouts, rate limits,
    servers that are down. The waits between tries grow, or are what the server asks for; one that would end after the
    deadline is not begun. They need the package stamina: it comes with the extras of the backends, and as `retry`.

    A chain of chains is one chain: its members are asked in order.
    """

    def __init__(self, *summarizers: Summarizer | Member) -> None:
        members: list[Member] = []
        for one in summarizers:
            members.extend(_members(one))
        self.members: Final[tuple[Member, ...]] = tuple(member.settled() for member in members)

    @property
    def name(self) -> str:
        """What results call it: they name the member whose reply was used."""
        return "fallback"

    @property
    def window_tokens(self) -> int | None:
        """The smallest window of a member: what every one of them takes."""
        windows = [window for member in self.members if (window := window_of(member.summarizer)) is not None]
        return min(windows, default=None)

    @property
    def reserve_tokens(self) -> int | None:
        """The largest part of a window that a member wants left for its reply; None where none says."""
        reserves = [reserve for member in self.members if (reserve := reserve_of(member.summarizer)) is not None]
        return max(reserves, default=None)

    @property
    def models(self) -> tuple[str | None, ...]:
        """The models of the members that have a window, None where one does not name it: who counts a request."""
        models = [model_of(m.summarizer) for m in self.members if window_of(m.summarizer) is not None]
        return tuple(dict.fromkeys(models))

    @property
    def appends(self) -> bool:
        """Whether those whose window is known, or all where none is, send the live request."""
        windowed = [m for m in self.members if window_of(m.summarizer) is not None]
        return all(appends(member.summarizer) for member in windowed or self.members) and bool(self.members)

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Return the first usable reply, cut to the cap where it is over."""
        _, reply = await self.ask(request, _silent)
        return reply

    async def ask(self, request: SummaryRequest, report: Report) -> tuple[str, SummaryReply]:
        """Return the first usable reply and whose it is; `report` is told of every attempt.

        Cancellation goes through, whatever it is for.
        """
        names = [member.name for member in self.members]
        for member, next_name in zip(self.members, [*names[1:], ""], strict=False):
            reply = await _ask(member, request, report)
            if reply is not None:
                return member.name, reply
            tell_fell_back(member.name, next_name)
        raise NoSummaryError(f"No summary came from any of: {', '.join(m.name for m in self.members) or 'nobody'}")


def _members(one: Summarizer | Member) -> tuple[Member, ...]:
    if isinstance(one, Fallback):
        return one.members
    if isinstance(one, Member):
        # What is said of a chain goes for each of its members.
        return tuple(
            Member(
                inner.summarizer,
                one.timeout_seconds or inner.timeout_seconds,
                one.tries or inner.tries,
                one.policy or inner.policy,
            )
            for inner in (_members(one.summarizer) if isinstance(one.summarizer, Fallback) else (one,))
        )
    return (Member(one),)


async def _ask(member: Member, request: SummaryRequest, report: Report) -> SummaryReply | None:
    """Ask one member as often as it may be asked."""
    asked = request
    try_number = 0
    # What the error says, not the error: it refers to the frames that hold the request.
    last: tuple[AttemptOutcome, float | None] | None = None

    async def once() -> SummaryReply | None:
        nonlocal asked, try_number, last
        try_number += 1
        if last is not None:
            tell_retried(member.name, *last)
        try:
            return await _try(member, asked, report, try_number)
        except _AgainError as error:
            last = (error.outcome, error.wait_seconds)
            if error.fault is not None:
                asked = structs.replace(request, refused=error.fault)
            raise

    try:
        if member.tries in {None, 1}:
            return await once()
        import stamina

        calling = stamina.AsyncRetryingCaller(
            attempts=member.tries,
            timeout=None,
            wait_initial=FIRST_WAIT_SECONDS,
            wait_jitter=FIRST_WAIT_SECONDS,
            wait_max=LONGEST_WAIT_SECONDS,
        )
        return await calling(_wait, once)
    except _AgainError:
        return None


def _wait(error: Exception) -> bool | float:
    return error.wait() if isinstance(error, _AgainError) else False


async def _try(member: Member, request: SummaryRequest, told: Report, try_number: int) -> SummaryReply | None:
    """Ask once. None where the next one is to be asked; `_AgainError` where this one may be."""
    name = member.name
    number = tell_started(name, request, try_number)

    def report(attempt: Attempt) -> None:
        tell_finished(number, attempt)
        told(attempt)

    call = Detached(lambda: member.summarizer.summarize(request))
    try:
        reply = await _within(member.timeout_seconds, call)
        usage = _reported(reply.usage)
        verdict = await judged(reply, request, member.policy or DEFAULT_REPLY_POLICY)
    except anyio.get_cancelled_exc_class():
        report(Attempt(name, "left_behind" if call.left_behind else "deadline"))
        raise
    except Exception as error:  # noqa: BLE001  # whatever a summarizer raises, the next one is asked
        reason, wait_seconds = _passing(error, name, report)
        if reason is None:
            return None
        raise _AgainError(f"{name}: {reason}", reason, wait_seconds=wait_seconds) from None
    report(Attempt(name, verdict.outcome, 0, verdict.detail, usage, reply.model, reply.latency_seconds))
    tell_rejected(number, name, verdict)
    if verdict.text is not None:
        return structs.replace(reply, text=verdict.text, usage=usage)
    if verdict.fault is not None and verdict.remedy == "retry":
        raise _AgainError(f"{name}: {verdict.fault}", verdict.fault, fault=verdict.fault)
    return None


def _passing(error: Exception, name: str, report: Report) -> tuple[AttemptOutcome | None, float | None]:
    """Report what was raised; return its name and how long to wait where that may pass, else None twice."""
    fault = fault_of(error)
    report(Attempt(name, fault.reason, detail=fault.text))
    if not fault.passes or not _in_time(fault.retry_after_seconds):
        return None, None
    return fault.reason, fault.retry_after_seconds


async def _within(seconds: float | None, call: Detached[SummaryReply]) -> SummaryReply:
    with anyio.move_on_after(seconds), handed_down(seconds):
        return _checked(await call.wait())
    left = ", and it did not stop when it was told to: it is left behind" if call.left_behind else ""
    raise SummarizerError(f"No reply in {seconds} s{left}", "timeout")


def _checked(reply: object) -> SummaryReply:
    if not isinstance(reply, SummaryReply):
        raise SummarizerError(f"A SummaryReply is needed, not {type(reply).__name__}", "garbled")
    text: object = reply.text
    if not isinstance(text, str):
        raise SummarizerError(f"The text of a reply must be a str, not {type(text).__name__}", "garbled")
    return reply


def _in_time(wait_seconds: float | None) -> bool:
    """Whether there is a point in waiting for so long."""
    if wait_seconds is None:
        return True
    left = current_deadline() - anyio.current_time()
    return wait_seconds <= LONGEST_WAIT_SECONDS and wait_seconds < left


def _reported(usage: object) -> Usage:
    """Return a usage that can be added up: a good text is not lost because its price is not known."""
    try:
        return msgspec.convert(msgspec.to_builtins(usage), decodable(Usage))
    except (msgspec.ValidationError, TypeError):
        return NO_USAGE


def _silent(attempt: Attempt) -> None:
    """Nobody asked."""
