"""A second request after a delay: the first good reply wins, the other call is cancelled."""

from dataclasses import dataclass, field

import anyio
from msgspec import structs

from turnfold.errors import ArgumentError
from turnfold.model.judgement import ReplyPolicy
from turnfold.model.summary import NO_USAGE, SummaryReply, SummaryRequest
from turnfold.summarizers.judging import judged
from turnfold.summarizers.protocol import Summarizer, window_of
from turnfold.summarizers.wrapping import Wrapping


class Hedged(Wrapping):
    """Asks `summarizer`, and `second` (the same one where it is None) if no good reply came within `after_seconds`.

    If the first fails, or answers what cannot be used, the second is asked at once. The first reply that its policy
    accepts is returned and the other call cancelled, which the provider may charge for all the same; the usage of a
    reply that was not used is added. Where both fail the first one's failure is raised, and a reply, however bad,
    comes before a failure.
    """

    def __init__(self, summarizer: Summarizer, second: Summarizer | None = None, *, after_seconds: float) -> None:
        super().__init__(summarizer)
        if not after_seconds >= 0:
            raise ArgumentError(f"after_seconds must be at least 0, got {after_seconds}")
        self._second = summarizer if second is None else second
        self._after_seconds = after_seconds

    @property
    def window_tokens(self) -> int | None:
        """The smaller window of the two."""
        windows = [window for one in (self._inner, self._second) if (window := window_of(one)) is not None]
        return min(windows, default=None)

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Return the first good reply."""
        race = _Race(self.reply_policy)
        async with anyio.create_task_group() as group:
            group.start_soon(race.run, self._inner, request)
            waiting = [self._second]
            running = 1
            while running:
                with anyio.move_on_after(self._after_seconds if waiting else None):
                    await race.arrived.wait()
                running -= race.collect()
                if race.good:
                    group.cancel_scope.cancel()
                    break
                if waiting:
                    running += 1
                    group.start_soon(race.run, waiting.pop(), request)
        return race.best()


@dataclass(slots=True)
class _Race:
    """What came so far, in the order in which it came; `good` are the replies that can be used."""

    policy: ReplyPolicy
    results: list[SummaryReply | Exception] = field(default_factory=list)
    good: list[SummaryReply] = field(default_factory=list)
    arrived: anyio.Event = field(default_factory=anyio.Event)
    _collected: int = 0

    async def run(self, summarizer: Summarizer, request: SummaryRequest) -> None:
        try:
            reply = await summarizer.summarize(request)
            if (await judged(reply, request, self.policy)).text is not None:
                self.good.append(reply)
            self.results.append(reply)
        except Exception as error:  # noqa: BLE001  # the other one may do better
            self.results.append(error)
        self.arrived.set()

    def best(self) -> SummaryReply:
        replies = [result for result in self.results if isinstance(result, SummaryReply)]
        if replies:
            return structs.replace((self.good or replies)[0], usage=sum((reply.usage for reply in replies), NO_USAGE))
        raise next(result for result in self.results if isinstance(result, Exception))

    def collect(self) -> int:
        """How many came since the last time."""
        new = len(self.results) - self._collected
        self._collected += new
        self.arrived = anyio.Event()
        return new
