"""A coroutine that is cancelled at one of its awaits."""

from collections.abc import Coroutine, Generator
from dataclasses import dataclass

import anyio


@dataclass(slots=True)
class Interrupted:
    """Awaits a coroutine, and cancels `scope` at its await number `at`."""

    work: Coroutine[object, object, object]
    scope: anyio.CancelScope
    at: int

    def __await__(self) -> Generator[object, object, object]:
        steps, step = self.work.__await__(), 0
        send: object = None
        fault: BaseException | None = None
        while True:
            try:
                waiting = steps.send(send) if fault is None else steps.throw(fault)
            except StopIteration as end:
                return end.value
            if step == self.at:
                self.scope.cancel()
            step += 1
            try:
                send, fault = (yield waiting), None
            except BaseException as error:  # noqa: BLE001  # it is the coroutine's to handle
                send, fault = None, error
