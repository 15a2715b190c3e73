"""What happens in a compaction, as plain records: one frozen record for each kind of event."""

import time
from typing import ClassVar, Literal, Self

import msgspec
from msgspec import structs

from turnfold.model.judgement import Remedy, ReplyFault
from turnfold.model.plan import SkipReason
from turnfold.model.result import AttemptOutcome
from turnfold.model.summary import NO_USAGE, Usage

DiscardReason = Literal["changed", "conflict", "cancelled", "skipped", "failed", "invalid", "not_smaller"]
"""Why a finished background compaction was not swapped in.

`changed`: the messages that it covers are not what they were; `conflict`: another compaction of the conversation was
committed first; `cancelled`: it was told to stop; `skipped`: it had nothing to do, or could not do it; `failed`: it
raised; `invalid`: with what was appended since, the result would break a rule; `not_smaller`: or not be smaller.
"""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What all events have.

    `compaction` is the same in all events of one compaction, and "" where an event belongs to none. `conversation` is
    the id that the caller gave. `unix_seconds` is when it was made.
    """

    TEXTS: ClassVar[tuple[str, ...]] = ()
    """Fields that hold text of the conversation, or may: error messages quote what they failed at."""

    compaction: str = ""
    conversation: str | None = None
    unix_seconds: float = msgspec.field(default_factory=time.time)

    @property
    def kind(self) -> str:
        """The event's name, such as `compaction.started`: the `type` of its JSON."""
        return str(self.__struct_config__.tag)

    def without_text(self) -> Self:
        """Return the event with every text that it holds left out."""
        return structs.replace(self, **dict.fromkeys(self.TEXTS)) if self.TEXTS else self


class PlannedCompaction(Event, frozen=True, kw_only=True):
    """What is known of a compaction once it is planned.

    Of `original_messages` messages `old_messages` are replaced, dropped or rewritten, and `recent_messages` stay behind
    the last of them. `keep_messages` is how many the policy wants to keep at the end, None where it does not count
    messages; `desired_split_index` is where that would cut, `safe_split_index` the legal cut that was taken.
    `before_tokens` is the request's count, `target_tokens` the most that the result may have.
    """

    policy: str
    model: str | None
    format: str
    original_messages: int
    old_messages: int
    recent_messages: int
    keep_messages: int | None
    desired_split_index: int | None
    safe_split_index: int
    before_tokens: int
    target_tokens: int


class CompactionStarted(PlannedCompaction, frozen=True, kw_only=True, tag="compaction.started"):
    """A plan is being carried out: `holes` summaries are needed. `plan_seconds` is how long planning took."""

    holes: int
    plan_seconds: float


class CompactionSkipped(Event, frozen=True, kw_only=True, tag="compaction.skipped"):
    """Nothing was done; `reason` is from the closed list of `Skip`."""

    policy: str
    reason: SkipReason
    original_messages: int
    before_tokens: int


class CompactionCompleted(PlannedCompaction, frozen=True, kw_only=True, tag="compaction.completed"):
    """A compaction is done.

    `summary_characters` is the length of the summary message, `summary_text` its text. `usage` adds up all calls,
    used or not, and `total_tokens` its input and output. `identifiers_kept`, `identifiers_lost`, `identifiers_new` and
    `identifiers_referenced_later` are numbers of identifiers: see `IdentifierReport`.
    """

    TEXTS: ClassVar[tuple[str, ...]] = ("summary_text",)

    new_messages: int
    after_tokens: int
    summary_characters: int
    method: str | None
    attempts: int
    identifiers_kept: int
    identifiers_lost: int
    identifiers_new: int
    usage: Usage
    total_tokens: int
    plan_seconds: float
    summarize_seconds: float
    apply_seconds: float
    overshoot_seconds: float
    identifiers_referenced_later: int = 0
    summary_text: str | None = None

    @property
    def prompt_tokens(self) -> int:
        """All input of all calls."""
        return self.usage.prompt_tokens

    @property
    def completion_tokens(self) -> int:
        """All output of all calls."""
        return self.usage.completion_tokens


class CompactionFailed(Event, frozen=True, kw_only=True, tag="compaction.failed"):
    """A compaction raised, or was cancelled. `error` is the class of what was raised, `error_text` its message."""

    TEXTS: ClassVar[tuple[str, ...]] = ("error_text",)

    policy: str
    original_messages: int
    error: str
    cancelled: bool
    error_text: str | None = None


class SummarizerStarted(Event, frozen=True, kw_only=True, tag="summarizer.started"):
    """A summarizer is asked: `call` is the same in all events of this try. `hole` is the plan's, from 0."""

    call: str
    method: str
    hole: int
    try_number: int
    source_tokens: int
    max_tokens: int
    schema: str
    temperature: float
    piece: tuple[int, int] | None = None


class SummarizerFinished(Event, frozen=True, kw_only=True, tag="summarizer.finished"):
    """A try is over: `outcome` says how, `usage` what it cost, `detail` more on a fault."""

    TEXTS: ClassVar[tuple[str, ...]] = ("detail",)

    call: str
    method: str
    hole: int
    outcome: AttemptOutcome
    model: str | None = None
    usage: Usage = NO_USAGE
    latency_seconds: float | None = None
    detail: str | None = None


class SummarizerRetried(Event, frozen=True, kw_only=True, tag="summarizer.retried"):
    """The same summarizer is asked again, because of `because`."""

    method: str
    hole: int
    because: AttemptOutcome
    wait_seconds: float | None = None


class SummarizerFellBack(Event, frozen=True, kw_only=True, tag="summarizer.fell_back"):
    """`method` gave nothing that can be used, so `next_method` is asked; "" where nobody is left."""

    method: str
    hole: int
    next_method: str


class ReplyRejected(Event, frozen=True, kw_only=True, tag="reply.rejected"):
    """A reply came and was not used as it was: `fault` says what was wrong, `remedy` what is done about it."""

    TEXTS: ClassVar[tuple[str, ...]] = ("detail",)

    call: str
    method: str
    hole: int
    fault: ReplyFault
    remedy: Remedy
    detail: str | None = None


class StoreCommitted(Event, frozen=True, kw_only=True, tag="store.committed"):
    """A store holds a new version of a conversation's summary, which covers messages `[start, stop)`."""

    store: str
    version: int
    start: int
    stop: int


class StoreConflict(Event, frozen=True, kw_only=True, tag="store.conflict"):
    """A commit was refused: it went out from `expected_version`, and the store is at `found_version`."""

    store: str
    expected_version: int
    found_version: int


class StoreSettled(Event, frozen=True, kw_only=True, tag="store.settled"):
    """A compaction that its process did not finish was settled as failed, and a new one may begin."""

    store: str
    owner: str


class BackgroundFailed(Event, frozen=True, kw_only=True, tag="background.failed"):
    """Something raised that costs no turn: a store that cannot be reached, a compaction that failed. `error` is its
    class, `error_text` its message.
    """

    TEXTS: ClassVar[tuple[str, ...]] = ("error_text",)

    store: str
    error: str
    error_text: str | None = None


class BackgroundStarted(Event, frozen=True, kw_only=True, tag="background.started"):
    """A compaction of a conversation of `messages` messages began in the background."""

    messages: int
    shared: bool


class BackgroundSwapped(Event, frozen=True, kw_only=True, tag="background.swapped"):
    """A background compaction took effect; `appended` messages came while it ran, and are kept behind it."""

    version: int
    messages_before: int
    messages_after: int
    appended: int


class BackgroundDiscarded(Event, frozen=True, kw_only=True, tag="background.discarded"):
    """A background compaction took no effect, and the conversation is what it was."""

    reason: DiscardReason


AnyEvent = (
    CompactionStarted
    | CompactionSkipped
    | CompactionCompleted
    | CompactionFailed
    | SummarizerStarted
    | SummarizerFinished
    | SummarizerRetried
    | SummarizerFellBack
    | ReplyRejected
    | StoreCommitted
    | StoreConflict
    | StoreSettled
    | BackgroundFailed
    | BackgroundStarted
    | BackgroundSwapped
    | BackgroundDiscarded
)
"""Every kind of event; `msgspec.json.decode(line, type=AnyEvent)` reads one back."""
