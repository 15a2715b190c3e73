"""What a batch has come to, as it goes on."""

import threading
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from turnfold.cli.compact_record import TokensBeforeAfter
from turnfold.model.summary import NO_USAGE, Usage


class CountedRecord(msgspec.Struct, frozen=True):
    """What is counted of a `CompactRecord`: the rest of its JSON is passed over."""

    status: str
    reason: str | None
    tokens: TokensBeforeAfter | None
    usage: Usage | None = None


_RECORDS: Final = msgspec.json.Decoder(list[CountedRecord])


def counted_of(records: bytes) -> list[CountedRecord]:
    """Return what is counted of the JSON array of a document's records."""
    return _RECORDS.decode(records)


class Totals(msgspec.Struct):
    """What a run has come to. `resumed` counts documents that an earlier run had done; blank lines are none.

    `bytes` are those of the documents, `read_bytes` those of the files they are in, as they lie on the disk; of these
    an earlier run did `resumed_bytes`.
    """

    files: int = 0
    documents: int = 0
    bytes: int = 0
    read_bytes: int = 0
    resumed_bytes: int = 0
    resumed: int = 0
    elsewhere: int = 0
    failed: int = 0
    statuses: Counter[str] = msgspec.field(default_factory=Counter)
    reasons: Counter[str] = msgspec.field(default_factory=Counter)
    tokens_before: int = 0
    tokens_after: int = 0
    usage: Usage = NO_USAGE
    reused: int = 0
    seconds: float = 0.0
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def add(self, counted: Iterable[CountedRecord]) -> None:
        """Count the transcripts of a document. May be called by the thread that reads and the one that writes."""
        with self._lock:
            for record in counted:
                self._add(record)

    def _add(self, record: CountedRecord) -> None:
        self.statuses[record.status] += 1
        self.failed += record.status == "failed"
        if record.reason is not None:
            self.reasons[record.reason] += 1
        if record.usage is not None:
            self.usage += record.usage
        if record.tokens is not None:
            self.tokens_before += record.tokens.before
            self.tokens_after += record.tokens.after
