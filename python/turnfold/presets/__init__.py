"""Known ways of compacting, as policies, and receivers, as options of a scan: data, not subclasses."""

from turnfold.presets import rules
from turnfold.presets.evicted_turns import evicted_turns
from turnfold.presets.hybrid import hybrid
from turnfold.presets.ledger import ledger
from turnfold.presets.memory_encoder import memory_encoder
from turnfold.presets.observation_mask import observation_mask
from turnfold.presets.priority_trim import priority_trim
from turnfold.presets.provider_compaction import provider_compaction
from turnfold.presets.registry import BY_NAME
from turnfold.presets.rule_digest import rule_digest
from turnfold.presets.token_threshold import token_threshold
from turnfold.presets.tool_batch import tool_batch
from turnfold.presets.turn_window import turn_window

__all__ = [
    "BY_NAME",
    "evicted_turns",
    "hybrid",
    "ledger",
    "memory_encoder",
    "observation_mask",
    "priority_trim",
    "provider_compaction",
    "rule_digest",
    "rules",
    "token_threshold",
    "tool_batch",
    "turn_window",
]
