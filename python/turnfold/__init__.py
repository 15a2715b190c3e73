"""Meter and compact the transcripts of LLM agents."""

from turnfold._core import __version__
from turnfold.checks import SplitPoints, compare_prefix, find_split, scan, split_points
from turnfold.errors import ReadError, TurnfoldError
from turnfold.meter import KeepEnd, count, count_many, count_up_to, truncate
from turnfold.model.blocks import Block
from turnfold.model.counts import TokenCount
from turnfold.model.findings import Finding, IntegrityReport
from turnfold.model.prefix import PrefixReport
from turnfold.model.scan import ScanOptions
from turnfold.model.splits import Blocker, KeepMessages, KeepTokens, KeepTurns, SplitPoint
from turnfold.transcript import Message, Transcript

__all__ = [
    "Block",
    "Blocker",
    "Finding",
    "IntegrityReport",
    "KeepEnd",
    "KeepMessages",
    "KeepTokens",
    "KeepTurns",
    "Message",
    "PrefixReport",
    "ReadError",
    "ScanOptions",
    "SplitPoint",
    "SplitPoints",
    "TokenCount",
    "Transcript",
    "TurnfoldError",
    "__version__",
    "compare_prefix",
    "count",
    "count_many",
    "count_up_to",
    "find_split",
    "scan",
    "split_points",
    "truncate",
]
