"""All of a source, whatever the window: asked for at once where it fits, else in pieces that are put together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
from msgspec import structs

from turnfold.errors import NoSummaryError
from turnfold.model.result import Attempt
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.summarizers.fallback import Fallback, Report
from turnfold.summarizers.pieces import Room, cut_request, group_partials, joined_request, room_of
from turnfold.summarizers.progress import Progress, merged
from turnfold.summarizers.rules import Rules
from turnfold.summarizers.threads import in_thread


@dataclass(frozen=True, slots=True)
class Cuts:
    """What the transcript says about cutting a request: whether it may be cut before a message, and which identifiers
    stand in messages `[start, stop)`.
    """

    is_cut: Callable[[int], bool]
    names: Callable[[int, int], tuple[str, ...]]


async def ask_whole(
    chain: Fallback,
    request: SummaryRequest,
    cuts: Cuts,
    report: Report,
    *,
    calls: anyio.CapacityLimiter,
    progress: Progress,
    by_rule: bool,
) -> tuple[str, SummaryReply]:
    """Return a summary of all of `request`, and whose it is: who wrote it, or put the pieces together.

    `report` is told of every attempt, `progress` of every piece. A piece that nobody summarises is written by rule, or
    with `by_rule=False` ends it all. Raises `NoSummaryError`. Calls run side by side, as many as `calls` has places.
    """
    room = room_of(chain, request)
    if room is not None:
        request = structs.replace(request, max_tokens=room.reply_tokens)
    if room is None or request.live is not None or await in_thread(room.share, request) <= 1:
        async with calls:
            return await chain.ask(request, report)
    progress.pieces = await in_thread(cut_request, request, room, is_cut=cuts.is_cut, names=cuts.names)
    if not progress.pieces:
        text = f"{request.source_tokens} tokens cannot be brought into a window with room for {room.limit_tokens}"
        report(Attempt(chain.name, "too_long", detail=text))
        raise NoSummaryError(f"{text}.")
    work = _Pieces(
        chain=chain, request=request, room=room, report=report, calls=calls, progress=progress, by_rule=by_rule
    )
    return await work.summarise()


@dataclass(slots=True, kw_only=True)
class _Pieces:
    chain: Fallback
    request: SummaryRequest
    room: Room
    report: Report
    calls: anyio.CapacityLimiter
    progress: Progress
    by_rule: bool

    async def summarise(self) -> tuple[str, SummaryReply]:
        """Ask for all pieces, then for summaries of their summaries until one call takes all of them."""
        partials = await self._side_by_side(self.progress.pieces, self.progress.done)
        earlier = self.request.previous
        if earlier is not None:
            partials.insert(0, earlier)
        while True:
            groups = await in_thread(group_partials, self.request, partials, self.room)
            if len(groups) == 1:
                break
            # Every group but the last has two summaries at least, and none is longer than a piece's: this ends.
            joining = [joined_request(self.request, group, self.room, last=False) for group in groups if len(group) > 1]
            joined = await self._side_by_side(joining, {})
            partials = [*joined, *(group[0] for group in groups if len(group) == 1)]
        async with self.calls:
            last = await in_thread(joined_request, self.request, groups[0], self.room, last=True)
            return await self.chain.ask(last, self.report)

    async def _side_by_side(self, requests: Sequence[SummaryRequest], done: dict[int, tuple[str, str]]) -> list[str]:
        failed: list[BaseException] = []
        stopped: list[BaseException] = []

        async def ask(index: int, request: SummaryRequest) -> None:
            try:
                async with self.calls:
                    name, reply = await self.chain.ask(request, lambda attempt: self._told(request, attempt))
                done[index] = (name, reply.text)
            except NoSummaryError as error:
                if not self.by_rule:
                    failed.append(error)
                    group.cancel_scope.cancel()
                    return
                text = await in_thread(Rules().write, by_rule_request(request))
                done[index] = (Rules().name, text)
            except (KeyboardInterrupt, SystemExit) as stop:
                stopped.append(stop)
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for index, request in enumerate(requests):
                group.start_soon(ask, index, request)
        if stopped or failed:
            raise _taken(stopped, failed)
        return [done[index][1] for index in range(len(requests))]

    def _told(self, request: SummaryRequest, attempt: Attempt) -> None:
        self.report(structs.replace(attempt, piece=None if request.piece is None else request.piece[0]))


def _taken(*raised: list[BaseException]) -> BaseException:
    """Return the first error, and forget all: they refer to the frames that hold them."""
    first = next(error for errors in raised for error in errors)
    for errors in raised:
        errors.clear()
    return first


def by_rule_request(request: SummaryRequest) -> SummaryRequest:
    """Return a request as the rules take it: summaries of pieces are what an earlier summary says."""
    if not request.partials:
        return request
    return structs.replace(request, previous=merged(request, request.partials), partials=())
