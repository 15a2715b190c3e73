"""Many transcripts, side by side."""

from typing import TYPE_CHECKING, Final

from turnfold.first_use import loaded

if TYPE_CHECKING:
    from turnfold.batch.compact import compact_batch
    from turnfold.batch.items import BatchEntry, BatchInput, BatchItem, BatchStatus
    from turnfold.batch.journal import Journal
    from turnfold.batch.limits import BatchLimits

__all__ = ["BatchEntry", "BatchInput", "BatchItem", "BatchLimits", "BatchStatus", "Journal", "compact_batch"]

# SQLite is loaded by who keeps a journal, and what needs the event loop by who has one.
_ON_FIRST_USE: Final = {
    "BatchEntry": "turnfold.batch.items",
    "BatchInput": "turnfold.batch.items",
    "BatchItem": "turnfold.batch.items",
    "BatchLimits": "turnfold.batch.limits",
    "BatchStatus": "turnfold.batch.items",
    "Journal": "turnfold.batch.journal",
    "compact_batch": "turnfold.batch.compact",
}


def __getattr__(name: str) -> object:
    return loaded(__name__, _ON_FIRST_USE, name)


def __dir__() -> list[str]:
    return __all__
