"""Events as log records."""

from typing import TYPE_CHECKING, Final

import msgspec

from turnfold.model.events import AnyEvent

if TYPE_CHECKING:
    import logging

LOGGER: Final = "turnfold"

_WARNINGS: Final = frozenset({"background.failed", "compaction.failed", "store.conflict", "store.settled"})
_PROGRESS: Final = frozenset({"summarizer.started", "summarizer.finished", "compaction.started"})


class LogSink:
    """Logs each event as one line: its kind, then its fields as JSON; the event itself is `record.event`.

    Failures, conflicts and settled compactions are warnings, a call's start and end are for debugging, and the rest is
    information. `logger` is the one named `turnfold` where none is given.
    """

    def __init__(self, logger: "logging.Logger | None" = None) -> None:
        import logging

        self._logger = logger or logging.getLogger(LOGGER)

    def __call__(self, event: AnyEvent) -> None:
        """Log one event."""
        import logging

        kind = event.kind
        level = logging.WARNING if kind in _WARNINGS else logging.DEBUG if kind in _PROGRESS else logging.INFO
        if self._logger.isEnabledFor(level):
            fields = {name: value for name, value in msgspec.to_builtins(event).items() if value is not None}
            del fields["type"]
            line = msgspec.json.encode(fields).decode()
            self._logger.log(level, "%s %s", kind, line, extra={"event": event})
