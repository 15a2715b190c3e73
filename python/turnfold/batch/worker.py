"""What a batch does with one item: read it, look whether it is done, compact it, remember it."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import msgspec

from turnfold._core import __version__
from turnfold.batch.asking import Summarizers
from turnfold.batch.items import BatchEntry, BatchInput, BatchItem, BatchStatus
from turnfold.batch.limits import BatchLimits
from turnfold.compactor import OnFailure, compact, compact_sync
from turnfold.errors import JournalError
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.model.scan import ScanOptions
from turnfold.model.state import PlanState
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers.threads import SMALL_BYTES, beside, in_thread
from turnfold.transcript import Transcript

if TYPE_CHECKING:
    from turnfold.batch.journal import ItemClaim, Journal


@dataclass(frozen=True, slots=True)
class Call:
    """What `compact` is told of each item, but for its deadline."""

    policy: Policy
    on_failure: OnFailure
    encoding: str | None
    model: str | None
    window_tokens: int | None
    options: ScanOptions
    state: PlanState

    def digest(self, policy: Policy, summarizers: str) -> bytes:
        """The digest of everything but the transcript that decides the outcome."""
        parts: tuple[object, ...] = (
            __version__,
            policy,
            self.on_failure,
            self.encoding,
            self.model,
            self.window_tokens,
            self.options,
            self.state,
            summarizers,
        )
        return hashlib.blake2b(msgspec.json.encode(parts), digest_size=20).digest()


@dataclass(slots=True)
class _Item:
    """An item in work."""

    transcript: Transcript
    policy: Policy
    key: bytes | None = None
    claim: "ItemClaim | None" = None
    outcome: CompactionResult | Skip | None = None
    reused: int = 0


class Worker:
    """Does one item at a time, as many side by side as its caller begins. `deadline` is on the event loop's clock."""

    def __init__(
        self,
        *,
        call: Call,
        summarizers: Summarizers | None,
        limits: BatchLimits,
        journal: "Journal | None",
        deadline: float,
    ) -> None:
        self._call = call
        self._summarizers = summarizers
        self._limits = limits
        self._journal = journal
        self._deadline = deadline
        self._calls = anyio.CapacityLimiter(limits.calls or limits.concurrency)
        self._digests: dict[Policy, bytes] = {}

    async def work(self, index: int, given: BatchInput) -> BatchItem:
        """Return what became of an item. Raises `JournalError` where that cannot be remembered."""
        begun = anyio.current_time()
        if begun >= self._deadline:
            return BatchItem(index=index, item=given, status="deadline")
        entry = given if isinstance(given, BatchEntry) else BatchEntry(item=given)
        item: _Item | None = None
        fault: Exception | None = None
        try:
            item = await beside(self._size(entry), self._begin, entry)
            if self._summarizers is not None and item.outcome is None and not _is_elsewhere(item):
                await self._ask(item, begun)
        except JournalError:
            raise
        except Exception as error:  # noqa: BLE001  # one bad item never stops the rest
            fault = error
        status = self._status(item, fault)
        if item is not None and item.key is not None and not _is_elsewhere(item) and not _was_done(item):
            await self._remember(item, status)
        return BatchItem(
            index=index,
            item=given,
            status=status,
            transcript=None if item is None else item.transcript,
            result=None if item is None or fault is not None else item.outcome,
            error=fault,
            seconds=anyio.current_time() - begun,
            resumed=item is not None and _was_done(item),
            reused=0 if item is None else item.reused,
        )

    def _size(self, entry: BatchEntry) -> int:
        """The bytes that there are to work on before anybody is asked."""
        if self._summarizers is None or self._journal is not None:
            return SMALL_BYTES + 1
        if isinstance(entry.item, Transcript | Exception):
            return 0
        return len(entry.item) if isinstance(entry.item, bytes) else SMALL_BYTES + 1

    def _begin(self, entry: BatchEntry) -> _Item:
        """Do all that waits for nobody: read, look it up, and compact where no summarizer is asked."""
        transcript = _read(entry)
        item = _Item(transcript, entry.policy or self._call.policy)
        if self._journal is not None:
            item.key = self._key(entry, item)
            item.claim = self._journal.claim_item(item.key)
            if item.claim.outcome is not None:
                from turnfold.batch.kept import kept

                item.outcome = kept(item.claim.outcome, transcript)
                return item
            if not item.claim.mine:
                return item
        if self._summarizers is None:
            try:
                item.outcome = compact_sync(
                    transcript,
                    item.policy,
                    encoding=self._call.encoding,
                    model=self._call.model,
                    window_tokens=self._call.window_tokens,
                    options=self._call.options,
                    state=self._call.state,
                )
            except Exception:
                if self._journal is not None and item.key is not None:
                    self._journal.release_item(item.key)
                raise
        return item

    def _key(self, entry: BatchEntry, item: _Item) -> bytes:
        digest = self._digests.get(item.policy)
        if digest is None:
            asked = "" if self._summarizers is None else self._summarizers.identity
            digest = self._digests[item.policy] = self._call.digest(item.policy, asked)
        content = entry.item if isinstance(entry.item, bytes) else item.transcript.to_json()
        key = hashlib.blake2b(digest + item.transcript.format.encode() + b"\0", digest_size=20)
        key.update(content)
        return key.digest()

    async def _ask(self, item: _Item, begun: float) -> None:
        """Compact with summaries by the summarizers."""
        if self._summarizers is None:
            return
        asking = self._summarizers.asking()
        most_seconds = self._deadline - begun
        if self._limits.item_seconds is not None:
            most_seconds = min(most_seconds, self._limits.item_seconds)
        # What reading took is part of the item's time.
        left_seconds = max(0.0, most_seconds - (anyio.current_time() - begun))
        item.outcome = await compact(
            item.transcript,
            item.policy,
            asking.chain,
            deadline_seconds=None if most_seconds == math.inf else left_seconds,
            on_failure=self._call.on_failure,
            calls=self._calls,
            encoding=self._call.encoding,
            model=self._call.model,
            window_tokens=self._call.window_tokens,
            options=self._call.options,
            state=self._call.state,
        )
        item.reused = asking.reused

    def _status(self, item: _Item | None, fault: Exception | None) -> BatchStatus:
        if fault is not None or item is None:
            return "failed"
        if _is_elsewhere(item):
            return "elsewhere"
        if isinstance(item.outcome, CompactionResult):
            return "compacted"
        late = anyio.current_time() >= self._deadline
        without = isinstance(item.outcome, Skip) and item.outcome.reason == "no_summary"
        return "deadline" if without and late else "skipped"

    async def _remember(self, item: _Item, status: BatchStatus) -> None:
        """Keep what is final; what failed, was late or got no summary is tried again by a run that goes on."""
        from turnfold.batch.kept import keep

        journal, key, outcome = self._journal, item.key, item.outcome
        if journal is None or key is None:
            return
        without = isinstance(outcome, Skip) and outcome.reason == "no_summary"
        if outcome is None or without or status not in {"compacted", "skipped"}:
            await in_thread(journal.release_item, key)
            return
        with anyio.CancelScope(shield=True):
            await in_thread(lambda: journal.finish_item(key, keep(outcome)))


def _is_elsewhere(item: _Item) -> bool:
    return item.claim is not None and item.claim.outcome is None and not item.claim.mine


def _was_done(item: _Item) -> bool:
    return item.claim is not None and item.claim.outcome is not None


def _read(entry: BatchEntry) -> Transcript:
    given: object = entry.item
    if isinstance(given, Exception):
        raise given
    if isinstance(given, Transcript):
        return given
    if isinstance(given, bytes):
        return Transcript.from_json(given, format=entry.format)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return Transcript.from_messages(given, format=entry.format)
    raise TypeError(f"a Transcript, bytes or a list of messages is needed, not {type(given).__name__}")
