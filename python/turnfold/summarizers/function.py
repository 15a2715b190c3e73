"""Your own function as a summarizer: an async one, or a blocking one in a thread."""

import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Final

import anyio
import anyio.from_thread
import anyio.lowlevel

from turnfold.errors import SummarizerError
from turnfold.model.judgement import DEFAULT_REPLY_POLICY, ReplyPolicy
from turnfold.model.summary import SummaryReply, SummaryRequest

Answer = str | SummaryReply
"""What a function gives: the summary's text, or a whole reply."""

MOST_LEFT_BEHIND: Final = 16
"""How many blocking calls may still run after they were given up. A thread cannot be stopped from outside."""


class Function:
    """Calls a function that takes a `SummaryRequest` and gives the summary's text, or a whole `SummaryReply`.

    An async function is awaited on the event loop. Any other is called in a thread of its own; at the deadline it is
    left behind there, and neither the caller nor the end of the process waits for it. With `MOST_LEFT_BEHIND` of one
    function still running the next call is refused (`busy`), so a function that hangs cannot collect threads. Say
    `blocking` for a callable whose kind cannot be seen, such as a plain function that returns an awaitable.

    `window_tokens` is how much its model takes; `policy` how its replies are judged.
    """

    def __init__(
        self,
        function: Callable[[SummaryRequest], Awaitable[Answer]] | Callable[[SummaryRequest], Answer],
        *,
        name: str = "function",
        blocking: bool | None = None,
        window_tokens: int | None = None,
        policy: ReplyPolicy = DEFAULT_REPLY_POLICY,
    ) -> None:
        self._function = function
        self._name = name
        self._blocking = not _is_async(function) if blocking is None else blocking
        self._left_behind = 0
        self._lock = threading.Lock()
        self.window_tokens: Final = window_tokens
        self.reply_policy: Final = policy

    @property
    def name(self) -> str:
        """What results call it."""
        return self._name

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Call the function."""
        if self._blocking:
            answer: object = await self._in_thread(request)
        else:
            coming = self._function(request)
            answer = await coming if inspect.isawaitable(coming) else coming
        if isinstance(answer, SummaryReply):
            return answer
        if isinstance(answer, str):
            return SummaryReply(answer)
        raise SummarizerError(f"{self._name} gave {type(answer).__name__}, not a text or a SummaryReply", "garbled")

    async def _in_thread(self, request: SummaryRequest) -> object:
        """Call it in a thread that nobody waits for: anyio's own workers would keep the process alive."""
        if self._left_behind >= MOST_LEFT_BEHIND:
            raise SummarizerError(f"{self._left_behind} earlier calls of {self._name} still run", "busy")
        call = _Call(anyio.lowlevel.current_token())
        context = copy_context()

        def run() -> None:
            try:
                call.answer = context.run(self._function, request)
            except Exception as error:  # noqa: BLE001  # it is raised where the call was made
                call.error = error
            except BaseException as error:  # noqa: BLE001  # a summarizer does not end the program
                call.error = SummarizerError(f"{self._name} raised {type(error).__name__}")
            with self._lock:
                call.finished = True
                self._left_behind -= call.left_behind
            # The loop may have ended long ago.
            with suppress(Exception):
                anyio.from_thread.run_sync(call.done.set, token=call.token)

        threading.Thread(target=run, name=f"turnfold {self._name}", daemon=True).start()
        try:
            await call.done.wait()
        finally:
            with self._lock:
                call.left_behind = not call.finished
                self._left_behind += call.left_behind
        if call.error is not None:
            raise call.taken_error(call.error)
        return call.answer


@dataclass(slots=True)
class _Call:
    """One call in a thread. `left_behind` says that nobody waits for it any more."""

    token: anyio.lowlevel.EventLoopToken
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: object = None
    error: Exception | None = None
    finished: bool = False
    left_behind: bool = False

    def taken_error(self, error: Exception) -> Exception:
        """Forget `error`, which refers to the frames that it came through, and so to this."""
        self.error = None
        return error


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
