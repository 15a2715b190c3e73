"""Meter and compact the transcripts of LLM agents."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from turnfold import presets
from turnfold._core import __version__
from turnfold.checks import SplitPoints, check_pairs, compare_prefix, find_split, repair, scan, split_points
from turnfold.errors import ReadError, TurnfoldError
from turnfold.first_use import loaded
from turnfold.meter import (
    KeepEnd,
    bounds,
    count,
    count_many,
    count_up_to,
    encoding_for_model,
    estimate,
    fits,
    register_model,
    truncate,
)
from turnfold.model.blocks import Block
from turnfold.model.calibration import Calibration
from turnfold.model.counts import ModelEncoding, TokenCount
from turnfold.model.detail import Detail, DetailReport
from turnfold.model.difference import PlanDifference
from turnfold.model.findings import Finding, IntegrityReport, PairCheck
from turnfold.model.plan import CompactionPlan, Skip
from turnfold.model.policy import (
    AllOf,
    AnyOf,
    AskProvider,
    Cooldown,
    DedupeResults,
    Drop,
    MaskResults,
    MessagesOver,
    ModelWindow,
    OnRequest,
    Policy,
    ProviderOverflow,
    ShareOver,
    Summarize,
    TokensOver,
    ToolGroupsOlder,
    TruncateResults,
    TurnsOver,
    TurnsSinceSummary,
)
from turnfold.model.prefix import PrefixReport
from turnfold.model.price import Price
from turnfold.model.provider import ProviderRequest
from turnfold.model.repair import Repair, RepairOptions
from turnfold.model.report import CompactionRecord, SessionStats
from turnfold.model.scan import ScanOptions
from turnfold.model.selection import (
    KeepShare,
    KeepToolGroups,
    PinIndex,
    PinPredicate,
    PinRole,
    PinText,
    Scope,
)
from turnfold.model.splits import Blocker, KeepMessages, KeepTokens, KeepTurns, SplitPoint
from turnfold.model.state import PlanState, ReportedUsage
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.objects import Message
from turnfold.transcript import Transcript

if TYPE_CHECKING:
    from turnfold import containers, stores, summarizers, telemetry
    from turnfold.background import BackgroundCompactor
    from turnfold.batch import BatchEntry, BatchItem, BatchLimits, compact_batch
    from turnfold.compactor import compact, compact_sync
    from turnfold.containers import Log, read_log
    from turnfold.details import detail_report, details_of
    from turnfold.planning.apply import CompactionResult
    from turnfold.planning.difference import diff_plans
    from turnfold.planning.plan import plan
    from turnfold.planning.provider import provider_body
    from turnfold.planning.removal import remove_blocks, remove_tool_calls
    from turnfold.planning.stats import stats
    from turnfold.summarizers import Fallback, Function, Marker, Rules, Summarizer
    from turnfold.vocabularies import register_vocabulary

__all__ = [
    "AllOf",
    "AnyOf",
    "AskProvider",
    "BackgroundCompactor",
    "BatchEntry",
    "BatchItem",
    "BatchLimits",
    "Block",
    "Blocker",
    "Calibration",
    "CompactionPlan",
    "CompactionRecord",
    "CompactionResult",
    "Cooldown",
    "DedupeResults",
    "Detail",
    "DetailReport",
    "Drop",
    "Fallback",
    "Finding",
    "Function",
    "IntegrityReport",
    "KeepEnd",
    "KeepMessages",
    "KeepShare",
    "KeepTokens",
    "KeepToolGroups",
    "KeepTurns",
    "Log",
    "Marker",
    "MaskResults",
    "Message",
    "MessagesOver",
    "ModelEncoding",
    "ModelWindow",
    "OnRequest",
    "PairCheck",
    "PinIndex",
    "PinPredicate",
    "PinRole",
    "PinText",
    "PlanDifference",
    "PlanState",
    "Policy",
    "PrefixReport",
    "Price",
    "ProviderOverflow",
    "ProviderRequest",
    "ReadError",
    "Repair",
    "RepairOptions",
    "ReportedUsage",
    "Rules",
    "ScanOptions",
    "Scope",
    "SessionStats",
    "ShareOver",
    "Skip",
    "SplitPoint",
    "SplitPoints",
    "Summarize",
    "Summarizer",
    "SummaryReply",
    "SummaryRequest",
    "TokenCount",
    "TokensOver",
    "ToolGroupsOlder",
    "Transcript",
    "TruncateResults",
    "TurnfoldError",
    "TurnsOver",
    "TurnsSinceSummary",
    "__version__",
    "bounds",
    "check_pairs",
    "compact",
    "compact_batch",
    "compact_sync",
    "compare_prefix",
    "containers",
    "count",
    "count_many",
    "count_up_to",
    "detail_report",
    "details_of",
    "diff_plans",
    "encoding_for_model",
    "estimate",
    "find_split",
    "fits",
    "plan",
    "presets",
    "provider_body",
    "read_log",
    "register_model",
    "register_vocabulary",
    "remove_blocks",
    "remove_tool_calls",
    "repair",
    "scan",
    "split_points",
    "stats",
    "stores",
    "summarizers",
    "telemetry",
    "truncate",
]

# Who only meters and checks waits neither for anyio, which takes longer than all the rest, nor for planning.
_ON_FIRST_USE: Final = {
    "BackgroundCompactor": "turnfold.background",
    "BatchEntry": "turnfold.batch",
    "BatchItem": "turnfold.batch",
    "BatchLimits": "turnfold.batch",
    "compact_batch": "turnfold.batch",
    "compact": "turnfold.compactor",
    "compact_sync": "turnfold.compactor",
    "CompactionResult": "turnfold.planning.apply",
    "diff_plans": "turnfold.planning.difference",
    "plan": "turnfold.planning.plan",
    "provider_body": "turnfold.planning.provider",
    "stats": "turnfold.planning.stats",
    "remove_blocks": "turnfold.planning.removal",
    "remove_tool_calls": "turnfold.planning.removal",
    "register_vocabulary": "turnfold.vocabularies",
    "Log": "turnfold.containers",
    "read_log": "turnfold.containers",
    "detail_report": "turnfold.details",
    "details_of": "turnfold.details",
    "Fallback": "turnfold.summarizers",
    "Function": "turnfold.summarizers",
    "Marker": "turnfold.summarizers",
    "Rules": "turnfold.summarizers",
    "Summarizer": "turnfold.summarizers",
}


def __getattr__(name: str) -> object:
    if name in {"containers", "stores", "summarizers", "telemetry"}:
        return import_module(f"turnfold.{name}")
    return loaded(__name__, _ON_FIRST_USE, name)


def __dir__() -> list[str]:
    return __all__
