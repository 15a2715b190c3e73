"""A store around another one, whose every call may be late, fail, lose its answer, answer garbage, or hang."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

import anyio

from turnfold.errors import CorruptStoreError, StoreUnavailableError
from turnfold.model.state import PlanState
from turnfold.model.stored import Lease, StoredSession, StoredSummary
from turnfold.stores.protocol import LEASE_SECONDS, Store
from turnfold.testing.fakes import FAR_SECONDS

StoreFault = Literal["error", "error_after", "slow", "slow_after", "hang", "garbage", "cancel", "cancel_after"]
"""`_after`: once the inner store has done it, so that only the answer is late or lost."""

_FAULTS: Final[tuple[StoreFault, ...]] = (
    "error",
    "error_after",
    "slow",
    "slow_after",
    "hang",
    "garbage",
    "cancel",
    "cancel_after",
)
_ANSWERS: Final = frozenset({"load", "begin", "commit", "settle"})
_R = TypeVar("_R")


@dataclass(slots=True)
class FaultyStore:
    """Does one of `StoreFault` to a `share` of the calls of `inner`. `cancel` is called where a call is cancelled.

    `done` says which faults there were, with the call.
    """

    inner: Store
    chance: random.Random
    share: float
    cancel: Callable[[], object] = lambda: None
    done: list[tuple[str, StoreFault]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What events call it."""
        return self.inner.name

    async def load(self, conversation: str) -> StoredSession:
        """See `Store`."""
        return await self._call("load", lambda: self.inner.load(conversation))

    async def begin(
        self, conversation: str, *, lease_seconds: float = LEASE_SECONDS, supersede: bool = False
    ) -> Lease | None:
        """See `Store`."""
        return await self._call(
            "begin", lambda: self.inner.begin(conversation, lease_seconds=lease_seconds, supersede=supersede)
        )

    async def commit(self, lease: Lease, summary: StoredSummary) -> int:
        """See `Store`."""
        return await self._call("commit", lambda: self.inner.commit(lease, summary))

    async def abandon(self, lease: Lease) -> None:
        """See `Store`."""
        await self._call("abandon", lambda: self.inner.abandon(lease))

    async def settle(self) -> tuple[str, ...]:
        """See `Store`."""
        return await self._call("settle", self.inner.settle)

    async def save_state(self, conversation: str, state: PlanState) -> None:
        """See `Store`."""
        await self._call("save_state", lambda: self.inner.save_state(conversation, state))

    async def delete(self, conversation: str) -> None:
        """See `Store`."""
        await self._call("delete", lambda: self.inner.delete(conversation))

    async def aclose(self) -> None:
        """See `Store`."""
        await self.inner.aclose()

    async def _call(self, name: str, work: Callable[[], Awaitable[_R]]) -> _R:
        if self.chance.random() >= self.share:
            return await work()
        fault = self.chance.choice(_FAULTS)
        if fault == "garbage" and name not in _ANSWERS:
            fault = "error"
        self.done.append((name, fault))
        await self._before(fault)
        answer = await work()
        return await self._after(fault, answer)

    async def _before(self, fault: StoreFault) -> None:
        if fault == "error":
            raise self._error()
        if fault == "slow":
            await anyio.sleep(self.chance.choice([0.1, 1, 4]))
        if fault == "hang":
            await anyio.sleep(FAR_SECONDS)
        if fault == "cancel":
            self.cancel()
            await anyio.lowlevel.checkpoint()

    async def _after(self, fault: StoreFault, answer: _R) -> _R:
        if fault == "error_after":
            raise self._error()
        if fault == "slow_after":
            await anyio.sleep(self.chance.choice([0.1, 1, 4]))
        if fault == "garbage":
            garbage: object = self.chance.choice([None, 7, "a text", ()])
            return garbage  # type: ignore[return-value]  # that is the fault
        if fault == "cancel_after":
            self.cancel()
        return answer

    def _error(self) -> Exception:
        return self.chance.choice(
            [
                StoreUnavailableError("down"),
                CorruptStoreError("garbled"),
                TimeoutError("slow"),
                OSError("no route"),
                RuntimeError("a fault of the store's own"),
            ]
        )
