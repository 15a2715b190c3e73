"""Events of stores. With nobody subscribed each of these returns at once."""

from turnfold.errors import StoreConflictError
from turnfold.model.events import StoreCommitted, StoreConflict, StoreSettled
from turnfold.model.stored import Lease, StoredSummary
from turnfold.telemetry import hub


def told_commit(store: str, lease: Lease, summary: StoredSummary, found: int, *, done: bool) -> int:
    """Tell how a commit ended: return the version where it is `done`, else raise what says that `found` came first."""
    if done:
        tell_committed(store, lease.conversation, summary, lease.base_version + 1)
        return lease.base_version + 1
    tell_conflict(store, lease.conversation, lease.base_version, found)
    raise StoreConflictError.of(lease.conversation, lease.base_version, found)


def tell_committed(store: str, conversation: str, summary: StoredSummary, version: int) -> None:
    """Tell of a new version."""
    if hub.heard():
        hub.emit(
            StoreCommitted(
                conversation=conversation, store=store, version=version, start=summary.start, stop=summary.stop
            )
        )


def tell_conflict(store: str, conversation: str, expected_version: int, found_version: int) -> None:
    """Tell of a commit that was refused."""
    if hub.heard():
        hub.emit(
            StoreConflict(
                conversation=conversation,
                store=store,
                expected_version=expected_version,
                found_version=found_version,
            )
        )


def tell_settled(store: str, conversation: str, owner: str) -> None:
    """Tell of what a dead process left."""
    if hub.heard():
        hub.emit(StoreSettled(conversation=conversation, store=store, owner=owner))
