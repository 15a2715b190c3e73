"""A plan tiles the transcript: every message is kept, replaced or rewritten, and the fit is known before any call."""

from collections.abc import Iterable
from typing import Literal, TypeVar

import msgspec

from turnfold.model.counts import TokenCount
from turnfold.model.facts import FactDetail
from turnfold.model.findings import Finding
from turnfold.model.prefix import PrefixReport
from turnfold.model.provider import ProviderRequest
from turnfold.model.result import Attempt
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.model.selection import Tail
from turnfold.model.summary import SummaryRecord
from turnfold.model.thinking import NO_REASONING, ThinkingReport

SummaryRole = Literal["user", "assistant"]

Place = Literal["slot", "start"]
"""Where a summary stands: where the first message stood that it replaces, or after instructions and head."""

Fit = Literal["bound", "likely"]
"""By which number of a count a limit is kept: by its upper bound, which is certain; or by the likeliest, by which
triggers fire too. They differ where counts are estimates, up to twofold where no vocabulary is public."""

CutSide = Literal["head", "tail", "both"]
"""What stays of a text that is cut: its beginning, its end, or both."""

DropReason = Literal["folded", "policy"]

SkipReason = Literal[
    "under_trigger",
    "nothing_to_compact",
    "no_legal_split",
    "budget_below_floor",
    "no_reduction",
    "misses_target",
    "server_history",
    "left_to_provider",
    "no_provider_compaction",
    "no_summary",
    "invalid_input",
    "invalid_output",
]


class Skip(msgspec.Struct, frozen=True, tag="skip"):
    """Nothing was done, and why. `reason` is from a closed list; `text` says it in a sentence.

    - `under_trigger`: the policy's trigger did not fire;
    - `nothing_to_compact`: all is kept by the policy, or what could go is a summary already;
    - `no_legal_split`: no cut between the instructions and the tail leaves a valid transcript;
    - `budget_below_floor`: the instructions with the unanswered user messages, or with the head that stays, alone count
      more than the target;
    - `no_reduction`: the result would not be smaller;
    - `misses_target`: the smallest result that the policy allows would still count more than the target;
    - `server_history`: the request continues a history that only the server holds, which no cut here shortens;
    - `left_to_provider`: the provider is to compact, and `request` is what asks it;
    - `no_provider_compaction`: it should, and has no request for that, or takes none with the policy's limit;
    - `no_summary`: no summarizer gave a summary that can be used, and none was to be made by rule (`attempts`);
    - `invalid_input`: a message that would be kept breaks a rule of the provider (`findings`);
    - `invalid_output`: the result would break one (`findings`).
    """

    reason: SkipReason
    text: str
    before: TokenCount
    findings: tuple[Finding, ...] = ()
    request: ProviderRequest | None = None
    attempts: tuple[Attempt, ...] = ()


class KeepRange(msgspec.Struct, frozen=True, gc=False, tag="keep"):
    """Messages `[start, stop)` leave as they are, byte for byte."""

    start: int
    stop: int


class StripBlocks(msgspec.Struct, frozen=True, gc=False, tag="strip"):
    """Message `start` (`stop = start + 1`) stays without `blocks`; every other byte of it stays."""

    start: int
    stop: int
    blocks: tuple[int, ...]


class DropRange(msgspec.Struct, frozen=True, gc=False, tag="drop"):
    """Messages `[start, stop)` go, and no summary stands for them.

    `because` says why: the provider has folded them into a message that stays (`folded`), or the policy drops them
    (`policy`).
    """

    start: int
    stop: int
    because: DropReason


class SummaryHole(msgspec.Struct, frozen=True, tag="summary"):
    """Messages `[start, stop)` are replaced by one summary message that counts at most `max_tokens` tokens.

    Up to `task_max_tokens` of them are for quoting the first user message, and as many for the request in work. What
    `kept` names stays and follows the summary, in order: what the policy spares, state that is still in force, and what
    only the server holds. `temperature` and `timeout_seconds` are for who writes it, who is shown reasoning and results
    clipped to `reasoning_tokens` and `result_tokens` each; `facts`, `model_input_tokens` and `goal_tokens` are as in
    `Summarize`.

    `stop` is where the transcript is cut. `keep` is the tail that the policy asks for, and `desired_stop` where that
    alone would cut. `desired_role` is the policy's: the provider may want another there. `record` is what the summary
    says of itself. All four are None in a plan that was made by hand.
    """

    start: int
    stop: int
    role: SummaryRole
    max_tokens: int
    task_max_tokens: int
    schema: str
    kept: tuple[KeepRange | StripBlocks, ...] = ()
    temperature: float = 0.0
    timeout_seconds: float | None = None
    reasoning_tokens: int | None = None
    result_tokens: int | None = None
    keep: Tail | None = None
    desired_stop: int | None = None
    desired_role: SummaryRole | None = None
    record: SummaryRecord | None = None
    facts: FactDetail = "none"
    model_input_tokens: int | None = None
    goal_tokens: int = 0

    @property
    def gone(self) -> tuple[range, ...]:
        """The messages that the summary stands for."""
        return without(self.start, self.stop, self.kept)


class EditBlocks(msgspec.Struct, frozen=True, gc=False, tag="edit"):
    """Message `start` (`stop = start + 1`) stays with other texts.

    The texts of `blocks` are cut to `max_tokens` tokens each, of which `side` stays. `replaced` are blocks with the
    text that takes the place of theirs. `stripped` are blocks that it loses beside that.
    """

    start: int
    stop: int
    blocks: tuple[int, ...] = ()
    max_tokens: int = 0
    stripped: tuple[int, ...] = ()
    side: CutSide = "both"
    replaced: tuple[tuple[int, str], ...] = ()

    @property
    def edited(self) -> tuple[int, ...]:
        """The blocks with another text, in order."""
        return tuple(sorted((*self.blocks, *(block for block, _ in self.replaced))))


Tile = KeepRange | StripBlocks | DropRange | SummaryHole | EditBlocks

_Kind = TypeVar("_Kind", KeepRange, StripBlocks, DropRange, SummaryHole, EditBlocks)


def tiles_of(kind: type[_Kind], tiles: Iterable[Tile]) -> list[_Kind]:
    """Return the tiles of one kind, in order."""
    # `isinstance` would ask the metaclass about each of another kind, and there are as many as messages.
    return [tile for tile in tiles if type(tile) is kind]


def without(start: int, stop: int, kept: Iterable[KeepRange | StripBlocks]) -> tuple[range, ...]:
    """Return `[start, stop)` without the ranges `kept`, which lie in it in order."""
    left: list[range] = []
    for tile in kept:
        if start < tile.start:
            left.append(range(start, tile.start))
        start = tile.stop
    if start < stop:
        left.append(range(start, stop))
    return tuple(left)


class CompactionPlan(msgspec.Struct, frozen=True, tag="plan"):
    """What to do, before anything is paid for.

    `tiles` cover `[0, messages)` in order, without gap or overlap. `source` is the fingerprint of the transcript that
    the plan is for; applying it to another is refused. `tokens_at_most` bounds the result from above and is at most
    `target_tokens`; both are numbers of the kind that `fit` names. `encoding`, `model` and `options` are what the
    caller gave: the result is judged with the same. `thinking` says what becomes of kept reasoning. `prefix` is what
    the result shares with the transcript from the start, whatever the summaries say: a prompt cache is good for so
    much. None in a plan that was made by hand.
    """

    source: str
    messages: int
    tiles: tuple[Tile, ...]
    before: TokenCount
    tokens_at_most: int
    target_tokens: int
    policy: str
    encoding: str | None = None
    model: str | None = None
    options: ScanOptions = BODY_ONLY
    thinking: ThinkingReport = NO_REASONING
    prefix: PrefixReport | None = None
    fit: Fit = "bound"

    @property
    def digest(self) -> str:
        """A hash of all that the plan says, its source included: equal plans have equal digests, in any process."""
        # Loads OpenSSL: only who asks for a digest waits for that.
        from hashlib import blake2b

        return blake2b(msgspec.json.encode(self), digest_size=16).hexdigest()
