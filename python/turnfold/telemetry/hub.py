"""Who is told of events. With no subscriber, asking whether there is one is all that an event costs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from msgspec import structs

from turnfold.model.events import AnyEvent

Sink = Callable[[AnyEvent], object]
"""Is called with each event, in the task or thread where it happens: it must be quick, and must not block."""

Redact = Callable[[str], str]


class Subscription:
    """A sink that is told of events until `close`; inside `with` until its end.

    Without `text` the sink gets no text of a conversation and no error message, which may quote it. With it `redact`,
    where given, is applied to each such text first.
    """

    __slots__ = ("_complained", "_redact", "_sink", "_text")

    def __init__(self, sink: Sink, *, text: bool, redact: Redact | None) -> None:
        if not callable(sink):
            raise TypeError(f"a sink is called with each event; {type(sink).__name__} cannot be called")
        self._sink = sink
        self._text = text
        self._redact = redact
        self._complained = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Tell the sink nothing any more. Closing twice is closing once."""
        global _subscriptions  # noqa: PLW0603  # one hub a process; the tuple is replaced whole, so readers need no lock
        with _LOCK:
            _subscriptions = tuple(one for one in _subscriptions if one is not self)

    def tell(self, event: AnyEvent) -> None:
        """Tell the sink. What it raises is logged once, by its class, and goes no further."""
        try:
            self._sink(self._shown(event))
        except Exception as error:  # noqa: BLE001  # a sink that fails never breaks a compaction
            self._complain(error)

    def _shown(self, event: AnyEvent) -> AnyEvent:
        if not event.TEXTS:
            return event
        if not self._text:
            return event.without_text()
        if self._redact is None:
            return event
        texts = {name: text for name in event.TEXTS if (text := getattr(event, name)) is not None}
        return structs.replace(event, **{name: self._redact(text) for name, text in texts.items()})

    def _complain(self, error: Exception) -> None:
        if self._complained:
            return
        self._complained = True
        complain("a sink for events raised %s; it is told of further events, and this is said once", error)


_LOCK: Final = threading.Lock()
_subscriptions: tuple[Subscription, ...] = ()
_SCOPED: Final[ContextVar[tuple[Subscription, ...]]] = ContextVar("turnfold_sinks", default=())


@dataclass(frozen=True, slots=True)
class Scope:
    """Which compaction, of which conversation, and which of its holes the running task works on."""

    compaction: str = ""
    conversation: str | None = None
    hole: int = 0


NO_SCOPE: Final = Scope()
_SCOPE: Final[ContextVar[Scope]] = ContextVar("turnfold_scope", default=NO_SCOPE)


def subscribe(sink: Sink, *, text: bool = False, redact: Redact | None = None) -> Subscription:
    """Tell `sink` of everything that happens in this process from now on: see `Subscription`."""
    global _subscriptions  # noqa: PLW0603  # see Subscription.close
    subscription = Subscription(sink, text=text, redact=redact)
    with _LOCK:
        _subscriptions = (*_subscriptions, subscription)
    return subscription


@contextmanager
def listening(sink: Sink, *, text: bool = False, redact: Redact | None = None) -> Iterator[None]:
    """Tell `sink` of what happens inside, in this task and in those that it starts: see `Subscription`."""
    token = _SCOPED.set((*_SCOPED.get(), Subscription(sink, text=text, redact=redact)))
    try:
        yield
    finally:
        _SCOPED.reset(token)


def heard() -> bool:
    """Whether anybody is told: an event is made only then."""
    return bool(_subscriptions or _SCOPED.get())


def emit(event: AnyEvent) -> None:
    """Tell everybody of an event, which gets what the running task's scope knows where it says nothing itself."""
    scope = _SCOPE.get()
    if scope is not NO_SCOPE:
        event = structs.replace(
            event,
            compaction=event.compaction or scope.compaction,
            conversation=scope.conversation if event.conversation is None else event.conversation,
        )
    for subscription in (*_subscriptions, *_SCOPED.get()):
        subscription.tell(event)


def scope() -> Scope:
    """Return what the running task works on."""
    return _SCOPE.get()


@contextmanager
def within(*, compaction: str = "", conversation: str | None = None, hole: int | None = None) -> Iterator[None]:
    """Work on this inside; what is not said stays as it is outside."""
    before = _SCOPE.get()
    token = _SCOPE.set(
        Scope(
            compaction=compaction or before.compaction,
            conversation=before.conversation if conversation is None else conversation,
            hole=before.hole if hole is None else hole,
        )
    )
    try:
        yield
    finally:
        _SCOPE.reset(token)


def complain(message: str, error: BaseException) -> None:
    """Log a warning with the class of an error: its message may quote a conversation.

    Nothing is printed where the program does not configure logging.
    """
    import logging

    logger = logging.getLogger("turnfold")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.warning(message, type(error).__name__)
