"""Many transcripts, side by side."""

from turnfold.batch.compact import BatchInput, BatchItem, BatchLimits, BatchStatus, compact_batch

__all__ = ["BatchInput", "BatchItem", "BatchLimits", "BatchStatus", "compact_batch"]
