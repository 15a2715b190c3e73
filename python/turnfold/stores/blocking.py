"""The base of stores whose calls block: each is one transaction, in a worker thread."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, Self, TypeVar
from uuid import uuid4

import anyio
import anyio.from_thread
import anyio.to_thread
import msgspec
from msgspec import structs

from turnfold.errors import CorruptStoreError, StoreUnavailableError
from turnfold.model.decodable import decodable
from turnfold.model.state import NO_STATE, PlanState
from turnfold.model.stored import Lease, StoredSession, StoredSummary, check_conversation
from turnfold.stores.owner import Owner, Pending, this_process
from turnfold.stores.protocol import LEASE_SECONDS
from turnfold.stores.telling import tell_settled, told_commit

PAUSE_SECONDS = 0.02
"""How long a store that is locked is left alone before the next try."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Struct = TypeVar("_Struct", bound=msgspec.Struct)


class LockedError(Exception):
    """Somebody else writes right now."""


class BlockingStore(ABC):
    """The face of a store, over a few blocking calls.

    Cancelled while it works, a call ends before its transaction commits and nothing is written; or it has committed,
    and returns what it did.
    """

    def __init__(self, *, wait_seconds: float, owner: Owner | None) -> None:
        self._wait_seconds = wait_seconds
        self._given_owner = owner

    @property
    @abstractmethod
    def name(self) -> str:
        """What events call it."""

    async def load(self, conversation: str) -> StoredSession:
        """See `Store`."""
        check_conversation(conversation)
        records, state = await self._run(self._read, conversation)
        summaries = tuple(
            structs.replace(self._decoded(record, StoredSummary, conversation), version=version)
            for version, record in records
        )
        return StoredSession(
            conversation=conversation,
            version=summaries[-1].version if summaries else 0,
            summaries=summaries,
            state=NO_STATE if state is None else self._decoded(state, PlanState, conversation),
        )

    async def begin(
        self, conversation: str, *, lease_seconds: float = LEASE_SECONDS, supersede: bool = False
    ) -> Lease | None:
        """See `Store`."""
        check_conversation(conversation)
        token = uuid4().hex
        here = self._owner()

        def write(before: Pending | None, version: int, now: float) -> Pending | None:
            if before is not None and not supersede and not before.is_over(here, now):
                return None
            return Pending(token=token, base_version=version, owner=here, until=now + lease_seconds)

        before, taken = await self._run(self._take, conversation, write)
        if taken is None:
            return None
        if before is not None and not supersede:
            tell_settled(self.name, conversation, str(before.owner))
        return Lease(conversation=conversation, token=token, base_version=taken.base_version)

    async def commit(self, lease: Lease, summary: StoredSummary) -> int:
        """See `Store`."""
        record = msgspec.json.encode(structs.replace(summary, version=lease.base_version + 1))
        done, found = await self._run(self._add, lease, record)
        return told_commit(self.name, lease, summary, found, done=done)

    async def abandon(self, lease: Lease) -> None:
        """See `Store`."""
        await self._run(self._end, lease.conversation, lease.token)

    async def settle(self) -> tuple[str, ...]:
        """See `Store`."""
        settled = []
        here = self._owner()
        pendings, now = await self._run(self._all_pending)
        for conversation, pending in pendings:
            if pending.is_over(here, now) and await self._run(self._end, conversation, pending.token):
                tell_settled(self.name, conversation, str(pending.owner))
                settled.append(conversation)
        return tuple(settled)

    async def save_state(self, conversation: str, state: PlanState) -> None:
        """See `Store`."""
        check_conversation(conversation)
        await self._run(self._put_state, conversation, msgspec.json.encode(state))

    async def delete(self, conversation: str) -> None:
        """See `Store`."""
        check_conversation(conversation)
        await self._run(self._remove, conversation)

    async def aclose(self) -> None:
        """See `Store`."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _owner(self) -> Owner:
        # A process that was forked is another one.
        return self._given_owner or this_process()

    async def _run(self, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Run one transaction in a thread; where another one holds the lock, again a little later."""
        deadline = anyio.current_time() + self._wait_seconds
        while True:
            try:
                return await anyio.to_thread.run_sync(lambda: work(*args, **kwargs))
            except LockedError:
                if anyio.current_time() >= deadline:
                    raise StoreUnavailableError(
                        f"{self._place()} was locked for {self._wait_seconds} s: see which process writes so long"
                    ) from None
            await anyio.sleep(PAUSE_SECONDS)

    def _decoded(self, record: bytes, shape: type[_Struct], conversation: str) -> _Struct:
        try:
            return msgspec.json.decode(record, type=decodable(shape))
        except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
            raise CorruptStoreError(
                f"{self._place()}: a {shape.__name__} of conversation {conversation!r} cannot be read ({error}); "
                "delete the conversation, or restore a copy of the store"
            ) from error

    @abstractmethod
    def _place(self) -> str:
        """Say where the store is, for messages; without a password."""

    @abstractmethod
    def _read(self, conversation: str) -> tuple[list[tuple[int, bytes]], bytes | None]:
        """Return all versions in order, and the state."""

    @abstractmethod
    def _take(
        self, conversation: str, write: Callable[[Pending | None, int, float], Pending | None]
    ) -> tuple[Pending | None, Pending | None]:
        """Put in the place of the lease what `write` makes of it, the version and the time; return both."""

    @abstractmethod
    def _add(self, lease: Lease, record: bytes) -> tuple[bool, int]:
        """Add a version and end the lease, if it is in force and its version the last; say that, and the last one."""

    @abstractmethod
    def _end(self, conversation: str, token: str) -> bool:
        """End a lease; say whether it was in force."""

    @abstractmethod
    def _all_pending(self) -> tuple[list[tuple[str, Pending]], float]:
        """Return all leases, and the time."""

    @abstractmethod
    def _put_state(self, conversation: str, state: bytes) -> None:
        """Write a state."""

    @abstractmethod
    def _remove(self, conversation: str) -> None:
        """Delete everything of a conversation."""

    @abstractmethod
    def _close(self) -> None:
        """Close connections."""


def stop_if_cancelled() -> None:
    """Raise where the caller of this worker thread was cancelled: before a transaction commits, never after."""
    anyio.from_thread.check_cancelled()
