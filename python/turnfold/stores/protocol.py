"""What a store is."""

from typing import Final, Protocol, runtime_checkable

from turnfold.model.state import PlanState
from turnfold.model.stored import Lease, StoredSession, StoredSummary

LEASE_SECONDS: Final = 300.0
"""How long a compaction may take, and wait to be swapped in, before another process may take over from it."""


@runtime_checkable
class Store(Protocol):
    """Keeps summaries and the state of sessions, by a conversation's id.

    Every method is whole or nothing: cancelled or failing at any point, what it would write is there in full, or not at
    all. All of them raise `StoreUnavailableError` where the store cannot be reached, and `CorruptStoreError` where what
    it holds cannot be read; nothing is deleted or overwritten then.
    """

    @property
    def name(self) -> str:
        """What events call it."""

    async def load(self, conversation: str) -> StoredSession:
        """Return what there is of a conversation: all its summaries in the order of their versions."""

    async def begin(
        self, conversation: str, *, lease_seconds: float = LEASE_SECONDS, supersede: bool = False
    ) -> Lease | None:
        """Take the lease for the next version; None where somebody else has it who is not gone.

        What a dead process left unfinished is settled as failed. With `supersede` the lease is taken from whoever has
        it, whose commit will be refused.
        """

    async def commit(self, lease: Lease, summary: StoredSummary) -> int:
        """Add `summary` as the next version and return its number. It is the end of the lease.

        Raises `StoreConflictError` where the lease was taken over or ended, or another version came first; the store is
        as it was then.
        """

    async def abandon(self, lease: Lease) -> None:
        """Give a lease back. One that is over is no error."""

    async def settle(self) -> tuple[str, ...]:
        """Settle as failed what dead processes left unfinished; return the conversations."""

    async def save_state(self, conversation: str, state: PlanState) -> None:
        """Keep what a session knows beside its request. The last one stays."""

    async def delete(self, conversation: str) -> None:
        """Forget a conversation: summaries, state, and the lease that somebody may have."""

    async def aclose(self) -> None:
        """Close connections. The store can be used again."""
