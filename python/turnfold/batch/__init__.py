"""Many transcripts, side by side."""

from typing import TYPE_CHECKING

from turnfold.batch.compact import compact_batch
from turnfold.batch.items import BatchEntry, BatchInput, BatchItem, BatchLimits, BatchStatus

if TYPE_CHECKING:
    from turnfold.batch.journal import Journal

__all__ = ["BatchEntry", "BatchInput", "BatchItem", "BatchLimits", "BatchStatus", "Journal", "compact_batch"]


def __getattr__(name: str) -> object:
    # SQLite is loaded by who keeps a journal.
    if name == "Journal":
        from turnfold.batch.journal import Journal

        return Journal
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
