"""A policy as data: when to compact, what to select, what to do with it. The defaults of its parts live here."""

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.facts import FactDetail
from turnfold.model.plan import CutSide, Fit, Place, SummaryRole
from turnfold.model.provider import ProviderRule
from turnfold.model.selection import KeepMessages, KeepToolGroups, Scope, Tail
from turnfold.model.thinking import ThinkingPolicy
from turnfold.model.triggers import (
    AllOf,
    AnyOf,
    Cooldown,
    MessagesOver,
    ModelWindow,
    OnRequest,
    ProviderOverflow,
    ShareOver,
    TokensOver,
    ToolGroupsOlder,
    Trigger,
    TurnsOver,
    TurnsSinceSummary,
    TurnUnit,
    at_least,
    check_share,
)

__all__ = [
    "AllOf",
    "AnyOf",
    "AskProvider",
    "Cooldown",
    "DedupeResults",
    "Drop",
    "MaskResults",
    "MessagesOver",
    "ModelWindow",
    "OnRequest",
    "Policy",
    "ProviderOverflow",
    "ShareOver",
    "Step",
    "Summarize",
    "TokensOver",
    "ToolGroupsOlder",
    "Trigger",
    "TruncateResults",
    "TurnsOver",
    "TurnsSinceSummary",
]


class Summarize(msgspec.Struct, frozen=True, tag="summarize"):
    """Replace everything between the leading instructions and the kept tail by one summary message.

    The tail is what `keep` names, more where a cut there is not legal. User messages that nobody has answered yet
    always stay. `scope` spares more: a head, messages of the user, tools, pins. The summary is placed after the leading
    instructions, or where the first of what it replaces stood, in `role` or in the nearest role that the format
    allows. It counts at most `max_tokens`, wrapper included, less where the target leaves less. On top of that it
    quotes the first user message of what is replaced, and the last one where no kept message is newer, with up to
    `task_max_tokens` each.

    `schema` names its sections. `temperature` is for summarizers that are models, and `timeout_seconds` is the most
    that one is waited for, whatever the caller's deadline says. With `once` an earlier summary is not written anew:
    what came after it is left to the next step. `place` says where the summary stands: in the slot of the first message
    that it replaces, or at the start, after instructions and head. `max_share` (0..1) is the most that it may take of
    what the limit leaves free. Of what it replaces, a summarizer is shown reasoning and results clipped to
    `reasoning_tokens` and `result_tokens` each; None shows all. `unit` says what a turn is in what the summary records
    of the turns that it covers: see `TurnsSinceSummary`. `facts` are for a summary that says what each call did. A
    model is asked where what is replaced counts at most `model_input_tokens`, else the summary is made by rule: None
    always asks, 0 never. Where the user's message stays that what goes was done for, a summarizer is shown up to
    `goal_tokens` of it.
    """

    keep: Tail = msgspec.field(default_factory=lambda: KeepMessages(4))
    role: SummaryRole = "user"
    max_tokens: int = 2_000
    task_max_tokens: int = 4_000
    schema: str = "nine_sections"
    scope: Scope = Scope()
    temperature: float = 0.0
    timeout_seconds: float | None = None
    once: bool = False
    place: Place = "slot"
    max_share: float = 1.0
    reasoning_tokens: int | None = None
    result_tokens: int | None = None
    unit: TurnUnit = "user"
    facts: FactDetail = "none"
    model_input_tokens: int | None = None
    goal_tokens: int = 0

    def __post_init__(self) -> None:
        at_least("max_tokens", self.max_tokens, 0)
        at_least("task_max_tokens", self.task_max_tokens, 0)
        at_least("goal_tokens", self.goal_tokens, 0)
        check_share("max_share", self.max_share)
        for name in ("reasoning_tokens", "result_tokens", "model_input_tokens"):
            value: int | None = getattr(self, name)
            if value is not None:
                at_least(name, value, 0)
        if not 0 <= self.temperature <= 2:
            raise ArgumentError(f"temperature must be between 0 and 2, got {self.temperature}")
        if self.timeout_seconds is not None and not self.timeout_seconds >= 0:
            raise ArgumentError(f"timeout_seconds must be at least 0, got {self.timeout_seconds}")


class TruncateResults(msgspec.Struct, frozen=True, tag="truncate_results"):
    """Shorten kept tool results of more than `max_tokens` tokens in place; a line says what went.

    Head and tail stay, or only the one that `side` names. Largest first, and only until the target is met. Where
    `max_tokens` each does not reach it, they are shortened further, in halves, but never below `min_tokens`. `keep` is
    a tail in which nothing is shortened.
    """

    max_tokens: int = 1_000
    min_tokens: int = 100
    side: CutSide = "both"
    keep: Tail = msgspec.field(default_factory=lambda: KeepMessages(0))
    scope: Scope = Scope()

    def __post_init__(self) -> None:
        at_least("min_tokens", self.min_tokens, 0)
        at_least("max_tokens", self.max_tokens, self.min_tokens)


class MaskResults(msgspec.Struct, frozen=True, tag="mask_results"):
    """Replace tool results before the kept tail by one line each, the oldest first, until the target is met.

    The line names the tool and the tokens that went. Results that the line would not shorten stay. With a `grid` the
    tail begins at a multiple of so many messages, so that the request's beginning changes less often than it grows.
    """

    keep: Tail = msgspec.field(default_factory=lambda: KeepToolGroups(10))
    scope: Scope = Scope()
    grid: int = 1

    def __post_init__(self) -> None:
        at_least("grid", self.grid, 1)


class DedupeResults(msgspec.Struct, frozen=True, tag="dedupe_results"):
    """Replace tool results by one line each where a later one says the same.

    That is where the same call with the same arguments gave the same text again, and, with `superseded`, where a file
    was read again by the same call: the later reading is how it stands now. Results in the tail `keep` stay.
    """

    keep: Tail = msgspec.field(default_factory=lambda: KeepMessages(0))
    superseded: bool = True
    scope: Scope = Scope()


class Drop(msgspec.Struct, frozen=True, tag="drop"):
    """Drop everything between the leading instructions and the kept tail, and put nothing in its place.

    The last resort where a summary does not fit. The tail is what `keep` names, more where a turn opened earlier: it
    starts with a message of the user. An earlier summary stays, and so do user messages that nobody has answered yet,
    state that is in force, and what only the server holds. With a `scope` other than the default only what it names
    goes, wherever that leaves a valid transcript. With `after_summary` nothing goes until a summary stands there.
    """

    keep: Tail = msgspec.field(default_factory=lambda: KeepMessages(4))
    scope: Scope = Scope()
    after_summary: bool = False


class AskProvider(msgspec.Struct, frozen=True, tag="ask_provider"):
    """Leave the compaction to the provider, by the rule for the transcript's wire format; the only step of its policy.

    A `standing` request is a setting for the provider, and made whether or not the policy fires.
    """

    rules: tuple[ProviderRule, ...]
    standing: bool = False


Step = Summarize | TruncateResults | MaskResults | DedupeResults | Drop | AskProvider


class Policy(msgspec.Struct, frozen=True):
    """When to compact, and how.

    Steps run in order until the request counts at most `target_tokens`; None means that the trigger's own limit is
    the target, and with no limit at all that every step is taken in full. `name` is the preset that built it.

    `target_share` (0..1) is a low watermark: steps run down to that share of the target, so that the next compaction is
    many turns away; a result that only meets the target itself is still one.

    `fit` says by which number of a count the target is kept: its upper bound, or the likeliest one. The bound proves
    that the result fits; where counts are estimates it can ask for half the tokens, which a step that only masks or
    drops may never reach.

    `thinking_policy` says what becomes of reasoning in kept messages when what stood before it has changed. None takes
    it out (`strip`) for models that refuse it after other words, and leaves it (`keep`) for all others.

    Raises an `ArgumentError` for a negative target, a share outside of 0..1, and `AskProvider` beside another step.
    """

    trigger: Trigger
    steps: tuple[Step, ...]
    target_tokens: int | None = None
    name: str = "custom"
    thinking_policy: ThinkingPolicy | None = None
    target_share: float = 1.0
    fit: Fit = "bound"

    def __post_init__(self) -> None:
        if self.target_tokens is not None:
            at_least("target_tokens", self.target_tokens, 0)
        check_share("target_share", self.target_share)
        if len(self.steps) > 1 and any(isinstance(step, AskProvider) for step in self.steps):
            raise ArgumentError("What is left to the provider is the only step of its policy")
