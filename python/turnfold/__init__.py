"""Meter and compact the transcripts of LLM agents."""

from turnfold._core import __version__
from turnfold.checks import SplitPoints, scan, split_points
from turnfold.errors import ReadError, TurnfoldError
from turnfold.model.blocks import Block
from turnfold.model.findings import Finding, IntegrityReport
from turnfold.model.scan import ScanOptions
from turnfold.model.splits import Blocker
from turnfold.transcript import Message, Transcript

__all__ = [
    "Block",
    "Blocker",
    "Finding",
    "IntegrityReport",
    "Message",
    "ReadError",
    "ScanOptions",
    "SplitPoints",
    "Transcript",
    "TurnfoldError",
    "__version__",
    "scan",
    "split_points",
]
