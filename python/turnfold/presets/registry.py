"""Every preset by its public name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from turnfold.model.policy import Policy
from turnfold.presets.evicted_turns import evicted_turns
from turnfold.presets.hybrid import hybrid
from turnfold.presets.ledger import ledger
from turnfold.presets.memory_encoder import memory_encoder
from turnfold.presets.observation_mask import observation_mask
from turnfold.presets.priority_trim import priority_trim
from turnfold.presets.provider_compaction import provider_compaction
from turnfold.presets.rule_digest import rule_digest
from turnfold.presets.token_threshold import token_threshold
from turnfold.presets.tool_batch import tool_batch
from turnfold.presets.turn_window import turn_window

BY_NAME: Final[Mapping[str, Callable[..., Policy]]] = MappingProxyType(
    {
        "evicted_turns": evicted_turns,
        "hybrid": hybrid,
        "ledger": ledger,
        "memory_encoder": memory_encoder,
        "observation_mask": observation_mask,
        "priority_trim": priority_trim,
        "provider_compaction": provider_compaction,
        "rule_digest": rule_digest,
        "token_threshold": token_threshold,
        "tool_batch": tool_batch,
        "turn_window": turn_window,
    }
)
"""Each preset by its name, on the command line too."""
