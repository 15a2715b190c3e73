"""What the input and the expectations of the layers `pairs`, `split` and `adapters` may hold.

A key that is not here is a fault.
"""

from typing import Literal

import msgspec

from turnfold.testing.case_texts import Relation

_UNSET = msgspec.UNSET
_Unset = msgspec.UnsetType


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a case. One that nothing uses makes the case fail."""

    pending_ids: list[str] | _Unset = _UNSET
    long_running_ids: list[str] | _Unset = _UNSET
    thinking: bool | _Unset = _UNSET
    strict_alternation: bool | _Unset = _UNSET
    gemini3: bool | _Unset = _UNSET
    reasoning_pairs: dict[str, str] | _Unset = _UNSET
    keep_last: int | _Unset = _UNSET
    split: int | _Unset = _UNSET
    requested_split: int | _Unset = _UNSET
    retain_user_text: Literal[True] | _Unset = _UNSET
    target_messages: int | _Unset = _UNSET
    trigger_tokens: int | _Unset = _UNSET
    hard_limit_tokens: int | _Unset = _UNSET
    budget_tokens: int | _Unset = _UNSET
    keep_recent_tokens: int | _Unset = _UNSET
    strip_tool_pairs: list[str] | _Unset = _UNSET
    strip_blocks_matching: str | _Unset = _UNSET
    single_system: Literal[True] | _Unset = _UNSET


class ScriptedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the scripted summarizer answers."""

    return_: str = msgspec.field(name="return")


class TranscriptInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One transcript or several, with one set of parameters or several."""

    messages: list[dict[str, object]] | _Unset = _UNSET
    messages_list: list[list[dict[str, object]]] | _Unset = _UNSET
    params: Params = Params()
    params_list: list[Params] | _Unset = _UNSET
    summarizer: list[ScriptedReply] = []


class Placed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call or result: its message and its id."""

    index: int
    id: str | None


class Pairs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The pair report; only the keys given are asserted."""

    paired: int | _Unset = _UNSET
    orphan_results: list[Placed] | _Unset = _UNSET
    pending: list[Placed] | _Unset = _UNSET
    abandoned_calls: list[Placed] | _Unset = _UNSET
    duplicate_call_ids: list[str] | _Unset = _UNSET
    duplicate_result_ids: list[str] | _Unset = _UNSET
    misplaced: list[Placed] | _Unset = _UNSET
    pair_indices: list[list[int]] | _Unset = _UNSET


class Snap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The nearest split points to one that is asked."""

    requested: int
    down: int | None
    up: int | None


class ValidOutput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finished transcript that a checker accepts."""

    messages: list[dict[str, object]]
    params: Params = Params()


class InvalidOutput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finished transcript that a checker refuses, and the rules that it breaks."""

    messages: list[dict[str, object]]
    violates: list[str]
    params: Params = Params()


class Outputs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Finished transcripts."""

    valid: list[ValidOutput] | _Unset = _UNSET
    invalid: list[InvalidOutput] | _Unset = _UNSET


class ForParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The split for another value of keep_last."""

    keep_last: int
    chosen_split: int


class TokenBound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bound on the count of a request."""

    op: Literal["lt", "le", "eq", "ge", "gt"]
    value: int


class CallBounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often the summarizer may be asked."""

    min: int
    max: int


class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a compaction with the case's parameters does."""

    committed: bool | _Unset = _UNSET
    history_unchanged: bool | _Unset = _UNSET
    summarizer_calls: CallBounds | _Unset = _UNSET
    reason: str | _Unset = _UNSET
    reason_in: list[str] | _Unset = _UNSET
    tokens_after: TokenBound | _Unset = _UNSET


class Each(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for every set of parameters: at least one of these."""

    one_of: list[str]


class Repaired(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a repair makes of the input, and by which of its ways."""

    method: Literal["reorder"]
    output: list[dict[str, object]]


class Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that these layers can expect."""

    valid_splits: list[int] | _Unset = _UNSET
    forbidden_splits: list[int] | _Unset = _UNSET
    snap: list[Snap] | _Unset = _UNSET
    pairs: Pairs | _Unset = _UNSET
    outputs: Outputs | _Unset = _UNSET
    input_violates: list[str] | _Unset = _UNSET
    chosen_split: int | _Unset = _UNSET
    for_params: list[ForParams] | _Unset = _UNSET
    must_contain_in_output: list[str] | _Unset = _UNSET
    output_prefix_identical: int | _Unset = _UNSET
    result: Result | _Unset = _UNSET
    identity: Literal[True] | _Unset = _UNSET
    each: Each | _Unset = _UNSET
    each_valid_splits: list[list[int]] | _Unset = _UNSET
    each_result: Literal["no summariser call, history unchanged, no exception"] | _Unset = _UNSET
    texts: dict[str, str] | _Unset = _UNSET
    tokens: list[Relation] | _Unset = _UNSET
    atomic_units: list[list[int]] | _Unset = _UNSET
    must_preserve_ids: list[str] | _Unset = _UNSET
    output_order: list[str] | _Unset = _UNSET
    last_plain_user_text: str | _Unset = _UNSET
    repair: Repaired | _Unset = _UNSET
    invariants: list[str] | _Unset = _UNSET  # prose
