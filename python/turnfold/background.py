"""Compactions beside a conversation that goes on: begun, swapped in when they are done, kept in a store."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Literal, Self, TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec import structs

from turnfold.compactor import OnFailure, check_arguments, compact
from turnfold.errors import ArgumentError, StoreConflictError, StoreUnavailableError
from turnfold.model.events import (
    BackgroundDiscarded,
    BackgroundFailed,
    BackgroundStarted,
    BackgroundSwapped,
    DiscardReason,
)
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.model.state import NO_STATE, PlanState
from turnfold.model.stored import Lease, StoredSummary, check_conversation
from turnfold.planning.apply import CompactionResult
from turnfold.planning.plan import plan
from turnfold.planning.swap import stored_summary, swap_in
from turnfold.prompts.redact import Redact, careful
from turnfold.stores.memory import MemoryStore
from turnfold.stores.protocol import LEASE_SECONDS, Store
from turnfold.summarizers.protocol import DEADLINE_SECONDS, Summarizer
from turnfold.summarizers.redacting import Redacting
from turnfold.summarizers.threads import in_thread
from turnfold.telemetry import hub
from turnfold.transcript import Transcript

CLEANUP_SECONDS: Final = 2.0
"""How long giving a lease back may take when everything ends. One that is left is settled by the next process."""

STORE_SECONDS: Final = 20.0
"""How long a turn waits for a store. Those of `turnfold.stores` say sooner that they are not there."""

Status = Literal["idle", "running", "ready"]
"""`running`: a compaction is at work; `ready`: it is done and waits for `swap`; `idle`: neither."""

_R = TypeVar("_R")


@dataclass(slots=True, eq=False)
class _Job:
    """One compaction of one conversation."""

    conversation: str
    source: Transcript
    state: PlanState
    supersede: bool
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    over: anyio.Event = field(default_factory=anyio.Event)
    lease: Lease | None = None
    result: CompactionResult | None = None
    reason: DiscardReason = "cancelled"
    swapping: bool = False
    due: bool = True


@dataclass(slots=True, eq=False)
class _Flight:
    """One call of `compact`, for everybody who asks for the same."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    over: anyio.Event = field(default_factory=anyio.Event)
    waiting: int = 0
    outcome: CompactionResult | Skip | None = None
    error: Exception | None = None


class BackgroundCompactor:
    """Compacts conversations while they go on. Use it as an async context manager; on the way out what runs is stopped.

    `start` begins a compaction and returns at once; `swap`, called with the conversation as it is now, gives it back
    compacted once that is done, with everything that was appended meanwhile. A conversation is known by an id of the
    caller's. `resume` does again what a store remembers, after a restart or where a client always sends everything.

    One compaction runs for a conversation at a time, in all processes that share the store, and one for identical
    requests in this process. Cancelled anywhere, a conversation is the old one or the new one, in memory and in the
    store. `redact` is applied to every text before a summarizer or the store sees it. A store that does not answer
    within `store_seconds` counts as one that cannot be reached. The other arguments are those of `compact`. Works on
    asyncio and trio; one object belongs to one event loop.
    """

    def __init__(
        self,
        policy: Policy,
        summarizer: Summarizer | None = None,
        *,
        store: Store | None = None,
        redact: Redact | None = None,
        deadline_seconds: float | None = DEADLINE_SECONDS,
        on_failure: OnFailure = "rules",
        calls: anyio.CapacityLimiter | None = None,
        lease_seconds: float = LEASE_SECONDS,
        store_seconds: float = STORE_SECONDS,
        encoding: str | None = None,
        model: str | None = None,
        window_tokens: int | None = None,
        options: ScanOptions = BODY_ONLY,
    ) -> None:
        check_arguments(policy, summarizer, deadline_seconds, on_failure, calls)
        if not lease_seconds > 0:
            raise ArgumentError(f"lease_seconds must be over 0, got {lease_seconds}")
        if not store_seconds > 0:
            raise ArgumentError(f"store_seconds must be over 0, got {store_seconds}")
        self._policy = policy
        self._summarizer = summarizer if summarizer is None or redact is None else Redacting(summarizer, redact)
        self._store: Store = MemoryStore() if store is None else store
        self._redact = None if redact is None else careful(redact)
        self._deadline_seconds = deadline_seconds
        self._on_failure: OnFailure = on_failure
        self._calls = calls
        self._lease_seconds = lease_seconds
        self._store_seconds = store_seconds
        self._encoding = encoding
        self._model = model
        self._window_tokens = window_tokens
        self._options = options
        self._group: TaskGroup | None = None
        self._jobs: Final[dict[str, _Job]] = {}
        self._flights: Final[dict[bytes, _Flight]] = {}

    async def __aenter__(self) -> Self:
        """Settle what dead processes left in the store, and begin to take work."""
        if self._group is not None:
            raise ArgumentError("a BackgroundCompactor is entered once at a time")
        await self._answer(self._store.settle())
        group = anyio.create_task_group()
        await group.__aenter__()
        self._group = group
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        group, self._group = self._group, None
        if group is None:
            return
        group.cancel_scope.cancel()
        try:
            # What the caller's block raised is not of the group: it goes on as it is, not wrapped.
            await group.__aexit__(None, None, None)
        finally:
            # Side by side: a store that is gone holds up the end once, not once a conversation.
            async with anyio.create_task_group() as leaving:
                for job in list(self._jobs.values()):
                    leaving.start_soon(self._discard, job, "cancelled")

    def start(
        self, conversation: str, transcript: Transcript, *, state: PlanState = NO_STATE, supersede: bool = False
    ) -> bool:
        """Begin to compact a conversation, where the policy's trigger fires; False where that is going on already.

        With `supersede` a compaction that runs or waits to be swapped in is given up for this one, wherever it runs.
        """
        check_conversation(conversation)
        group = self._group
        if group is None:
            raise ArgumentError("a BackgroundCompactor begins work inside `async with`")
        if conversation in self._jobs and not (supersede and self.cancel(conversation)):
            return False
        job = _Job(conversation, transcript, state, supersede)
        self._jobs[conversation] = job
        group.start_soon(self._work, job)
        return True

    def status(self, conversation: str) -> Status:
        """Say whether a compaction of a conversation runs, or is ready to be swapped in."""
        job = self._jobs.get(conversation)
        return "idle" if job is None else "running" if job.result is None else "ready"

    async def wait(self, conversation: str) -> Status:
        """Wait until nothing runs for a conversation; return what is then."""
        job = self._jobs.get(conversation)
        if job is not None:
            await job.over.wait()
        return self.status(conversation)

    def cancel(self, conversation: str) -> bool:
        """Give up what runs, or is ready, for a conversation; False where there is nothing, or it has taken effect."""
        job = self._jobs.pop(conversation, None)
        if job is None:
            return False
        job.scope.cancel()
        if job.over.is_set() and self._group is not None:
            self._group.start_soon(self._discard, job, "cancelled")
        return True

    async def swap(self, conversation: str, transcript: Transcript) -> Transcript:
        """Return `transcript` compacted, if a compaction of it is ready; else `transcript` itself.

        What was appended since the compaction began stays behind the summary. The store has the new version before it
        is handed over. Where covered messages are not what they were, where the store has another version, and where
        the result would be invalid or not smaller, the compaction is discarded. A store that fails costs no turn:
        the compaction stays ready, and the failure is logged and told as an event.
        """
        job = self._jobs.get(conversation)
        if job is None or job.result is None or job.lease is None or job.swapping:
            return transcript
        job.swapping = True
        try:
            with hub.within(conversation=conversation):
                return await self._swap(job, job.result, job.lease, transcript)
        finally:
            job.swapping = False

    async def resume(self, conversation: str, transcript: Transcript) -> Transcript:
        """Return `transcript` with every stored summary in the place of what it covers, if that is what it was.

        Summaries are tried in the order of their versions, each on what the ones before left. Errors of the store are
        raised. Linear in the covered messages.
        """
        session = await self._answer(self._store.load(conversation))
        return await in_thread(self._with_all, transcript, session.summaries)

    def _with_all(self, transcript: Transcript, summaries: tuple[StoredSummary, ...]) -> Transcript:
        for summary in summaries:
            swapped = swap_in(transcript, summary, self._options)
            if isinstance(swapped, Transcript):
                transcript = swapped
        return transcript

    async def _swap(self, job: _Job, result: CompactionResult, lease: Lease, transcript: Transcript) -> Transcript:
        summary = await in_thread(stored_summary, job.source, result)
        swapped = await in_thread(swap_in, transcript, summary, self._options)
        if not isinstance(swapped, Transcript):
            await self._discard(job, swapped)
            return transcript
        try:
            kept = summary
            if self._redact is not None:
                kept = await in_thread(stored_summary, job.source, result, self._redact)
            version = await self._commit(lease, structs.replace(kept, token=lease.token))
        except StoreConflictError:
            await self._discard(job, "conflict")
            return transcript
        except Exception as error:  # noqa: BLE001  # whatever a store or a redaction raises, the turn goes on
            self._tell_failed(job.conversation, error)
            return transcript
        # From here on nothing is awaited: what the store has is handed over.
        job.lease = None
        self._forget(job)
        if hub.heard():
            hub.emit(
                BackgroundSwapped(
                    version=version,
                    messages_before=len(transcript),
                    messages_after=len(swapped),
                    appended=max(len(transcript) - len(job.source), 0),
                )
            )
        return swapped

    async def _commit(self, lease: Lease, summary: StoredSummary) -> int:
        unknown: Exception
        try:
            version: object = await self._answer(self._store.commit(lease, summary))
        except StoreConflictError as error:
            unknown = error
        else:
            if version == lease.base_version + 1:
                return lease.base_version + 1
            unknown = StoreUnavailableError(f"the store {self._store.name} answered a commit with {version!r}")
        # An earlier try may have been written, and only its answer lost.
        session = await self._answer(self._store.load(lease.conversation))
        for one in session.summaries:
            if one.token == lease.token:
                return one.version
        raise unknown

    async def _answer(self, call: Awaitable[_R]) -> _R:
        """Return what the store answers, if it does within its time."""
        with anyio.move_on_after(self._store_seconds):
            return await call
        raise StoreUnavailableError(f"the store {self._store.name} gave no answer in {self._store_seconds} s")

    async def _work(self, job: _Job) -> None:
        with hub.within(conversation=job.conversation):
            try:
                with job.scope:
                    await self._compact(job)
            except Exception as error:  # noqa: BLE001  # a compaction that fails is no news to the conversation
                job.reason = "failed"
                self._tell_failed(job.conversation, error)
            finally:
                # Given up in the moment in which it was done, it has a result, and nobody who would swap it in.
                if job.result is None or self._jobs.get(job.conversation) is not job:
                    await self._discard(job, job.reason)
                job.over.set()

    async def _compact(self, job: _Job) -> None:
        planned = await in_thread(
            plan,
            job.source,
            self._policy,
            encoding=self._encoding,
            model=self._model,
            window_tokens=self._window_tokens,
            options=self._options,
            state=job.state,
        )
        if isinstance(planned, Skip):
            job.reason = "skipped"
            job.due = planned.reason != "under_trigger"
            return
        job.lease = await self._answer(
            self._store.begin(job.conversation, lease_seconds=self._lease_seconds, supersede=job.supersede)
        )
        if job.lease is None:
            job.reason = "conflict"
            return
        outcome = await self._one_flight(job, planned.digest)
        if isinstance(outcome, Skip):
            job.reason = "skipped"
        else:
            job.result = outcome

    async def _one_flight(self, job: _Job, plan_digest: str) -> CompactionResult | Skip:
        """Compact, or wait for the compaction of the same transcript by the same plan that runs already."""
        key = msgspec.msgpack.encode((job.source.fingerprint, plan_digest))
        flight = self._flights.get(key)
        if hub.heard():
            hub.emit(BackgroundStarted(messages=len(job.source), shared=flight is not None))
        if flight is None:
            flight = self._flights[key] = _Flight()
            assert self._group is not None  # noqa: S101  # jobs are cancelled before it is gone
            self._group.start_soon(self._fly, key, flight, job.source, job.state)
        flight.waiting += 1
        try:
            await flight.over.wait()
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.over.is_set():
                flight.scope.cancel()
                self._landed(key, flight)
        if flight.error is not None:
            raise flight.error
        if flight.outcome is None:
            raise ArgumentError("the BackgroundCompactor was left while it worked")
        return flight.outcome

    async def _fly(self, key: bytes, flight: _Flight, transcript: Transcript, state: PlanState) -> None:
        try:
            with flight.scope:
                flight.outcome = await compact(
                    transcript,
                    self._policy,
                    self._summarizer,
                    deadline_seconds=self._deadline_seconds,
                    on_failure=self._on_failure,
                    calls=self._calls,
                    encoding=self._encoding,
                    model=self._model,
                    window_tokens=self._window_tokens,
                    options=self._options,
                    state=state,
                )
        except Exception as error:  # noqa: BLE001  # raised to everybody who waits
            flight.error = error
        finally:
            self._landed(key, flight)
            flight.over.set()

    def _landed(self, key: bytes, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    async def _discard(self, job: _Job, reason: DiscardReason) -> None:
        """Forget a job and give its lease back, whatever is cancelled meanwhile."""
        self._forget(job)
        lease, job.lease = job.lease, None
        if lease is not None:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLEANUP_SECONDS):
                try:
                    await self._store.abandon(lease)
                except Exception as error:  # noqa: BLE001  # the lease ends by itself
                    self._tell_failed(job.conversation, error)
        if job.due and hub.heard():
            hub.emit(BackgroundDiscarded(conversation=job.conversation, reason=reason))

    def _forget(self, job: _Job) -> None:
        if self._jobs.get(job.conversation) is job:
            del self._jobs[job.conversation]

    def _tell_failed(self, conversation: str, error: Exception) -> None:
        hub.complain("beside a conversation: %s", error)
        if hub.heard():
            hub.emit(
                BackgroundFailed(
                    conversation=conversation,
                    store=self._store.name,
                    error=type(error).__name__,
                    error_text=str(error) or None,
                )
            )
