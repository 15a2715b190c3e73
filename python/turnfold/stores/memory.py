"""A store in this process: gone with it."""

import threading
import time
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import anyio.lowlevel
from msgspec import structs

from turnfold.model.state import NO_STATE, PlanState
from turnfold.model.stored import Lease, StoredSession, StoredSummary, check_conversation
from turnfold.stores.owner import Pending, this_process
from turnfold.stores.protocol import LEASE_SECONDS
from turnfold.stores.telling import tell_settled, told_commit


@dataclass(slots=True)
class _Held:
    summaries: list[StoredSummary] = field(default_factory=list)
    state: PlanState = NO_STATE
    pending: Pending | None = None


class MemoryStore:
    """Keeps everything in a dict. Safe for threads and event loops of one process."""

    def __init__(self) -> None:
        self._held: Final[dict[str, _Held]] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """What events call it."""
        return "memory"

    async def load(self, conversation: str) -> StoredSession:
        """See `Store`."""
        check_conversation(conversation)
        await anyio.lowlevel.checkpoint()
        with self._lock:
            held = self._held.get(conversation, _Held())
            return StoredSession(
                conversation=conversation,
                version=len(held.summaries),
                summaries=tuple(held.summaries),
                state=held.state,
            )

    async def begin(
        self, conversation: str, *, lease_seconds: float = LEASE_SECONDS, supersede: bool = False
    ) -> Lease | None:
        """See `Store`."""
        check_conversation(conversation)
        await anyio.lowlevel.checkpoint()
        here, now, token = this_process(), time.time(), uuid4().hex
        with self._lock:
            held = self._held.setdefault(conversation, _Held())
            before = held.pending
            if before is not None and not supersede and not before.is_over(here, now):
                return None
            base = len(held.summaries)
            held.pending = Pending(token=token, base_version=base, owner=here, until=now + lease_seconds)
        if before is not None and not supersede:
            tell_settled(self.name, conversation, str(before.owner))
        return Lease(conversation=conversation, token=token, base_version=base)

    async def commit(self, lease: Lease, summary: StoredSummary) -> int:
        """See `Store`."""
        await anyio.lowlevel.checkpoint()
        with self._lock:
            held = self._held.get(lease.conversation, _Held())
            found = len(held.summaries)
            holds = held.pending is not None and held.pending.token == lease.token and found == lease.base_version
            if holds:
                held.summaries.append(structs.replace(summary, version=found + 1))
                held.pending = None
        return told_commit(self.name, lease, summary, found, done=holds)

    async def abandon(self, lease: Lease) -> None:
        """See `Store`."""
        await anyio.lowlevel.checkpoint()
        with self._lock:
            held = self._held.get(lease.conversation)
            if held is not None and held.pending is not None and held.pending.token == lease.token:
                held.pending = None

    async def settle(self) -> tuple[str, ...]:
        """See `Store`."""
        await anyio.lowlevel.checkpoint()
        here, now = this_process(), time.time()
        settled: dict[str, Pending] = {}
        with self._lock:
            for conversation, held in self._held.items():
                if held.pending is not None and held.pending.is_over(here, now):
                    settled[conversation] = held.pending
                    held.pending = None
        for conversation, pending in settled.items():
            tell_settled(self.name, conversation, str(pending.owner))
        return tuple(settled)

    async def save_state(self, conversation: str, state: PlanState) -> None:
        """See `Store`."""
        check_conversation(conversation)
        await anyio.lowlevel.checkpoint()
        with self._lock:
            self._held.setdefault(conversation, _Held()).state = state

    async def delete(self, conversation: str) -> None:
        """See `Store`."""
        check_conversation(conversation)
        await anyio.lowlevel.checkpoint()
        with self._lock:
            self._held.pop(conversation, None)

    async def aclose(self) -> None:
        """Keep everything: there is nothing to close."""
        await anyio.lowlevel.checkpoint()
