"""A compaction as data, and the same done to a conversation that went on meanwhile."""

import time
from collections.abc import Callable
from hashlib import sha256

from msgspec import structs

from turnfold import checks
from turnfold.errors import ArgumentError
from turnfold.model.events import DiscardReason
from turnfold.model.plan import CompactionPlan, DropRange, EditBlocks, KeepRange, SummaryHole, Tile
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.model.stored import StoredSummary
from turnfold.planning.apply import Applied, CompactionResult, parts_of
from turnfold.transcript import Transcript

Redact = Callable[[str], str]


def covered_digest(transcript: Transcript, start: int, stop: int) -> str:
    """Return the SHA-256 of messages `[start, stop)`, byte for byte; linear in them."""
    digest = sha256()
    for index in range(start, stop):
        message = transcript.message_json(index)
        digest.update(len(message).to_bytes(8, "big"))
        digest.update(message)
    return digest.hexdigest()


def stored_summary(source: Transcript, result: Applied, redact: Redact | None = None) -> StoredSummary:
    """Return what `result` did to `source` as data.

    `redact` is applied to every text in it that came from the conversation.
    """
    plan = result.plan
    tiles = _changed(plan)
    places = _summary_places(plan)
    return StoredSummary(
        start=tiles[0].start,
        stop=tiles[-1].stop,
        source_digest=covered_digest(source, tiles[0].start, tiles[-1].stop),
        tiles=tuple(_redacted_tile(tile, redact) for tile in tiles),
        messages=tuple(_redacted_message(result.transcript, place, redact).decode() for place in places),
        encoding=source.encoding(plan.encoding, plan.model),
        policy=plan.policy,
        method=result.method if isinstance(result, CompactionResult) else None,
        before_tokens=result.before.n,
        after_tokens=result.after.n,
        unix_seconds=time.time(),
    )


def covers(transcript: Transcript, stored: StoredSummary) -> bool:
    """Whether the messages that `stored` covers stand in `transcript` as they were, byte for byte."""
    if not 0 <= stored.start < stored.stop <= len(transcript):
        return False
    return covered_digest(transcript, stored.start, stored.stop) == stored.source_digest


def swap_in(
    transcript: Transcript, stored: StoredSummary, options: ScanOptions = BODY_ONLY
) -> Transcript | DiscardReason:
    """Do to `transcript` what `stored` says, if the messages that it covers are what they were; keep all others.

    The result is handed over only if it breaks no rule of its provider and counts less; else the reason is returned.
    Linear in the covered messages, and in what a scan costs.
    """
    if not covers(transcript, stored):
        return "changed"
    new = [message.encode() for message in stored.messages]
    edited, inner, _ = parts_of(transcript, stored.tiles, new, stored.encoding)
    swapped = edited.splice([range(stored.start), *inner, range(stored.stop, len(transcript))])
    if not checks.scan(swapped, options, before=transcript).ok:
        return "invalid"
    if swapped.tokens().n >= transcript.tokens().n:
        return "not_smaller"
    return swapped


def _changed(plan: CompactionPlan) -> tuple[Tile, ...]:
    """Return the tiles from the first to the last that changes something."""
    changing = [index for index, tile in enumerate(plan.tiles) if not isinstance(tile, KeepRange)]
    if not changing:
        raise ArgumentError("the plan keeps every message: there is nothing to store")
    return plan.tiles[changing[0] : changing[-1] + 1]


def _summary_places(plan: CompactionPlan) -> list[int]:
    """Return where in the result the plan's summaries stand."""
    places = []
    at = 0
    for tile in plan.tiles:
        match tile:
            case SummaryHole(kept=kept):
                places.append(at)
                at += 1 + sum(one.stop - one.start for one in kept)
            case DropRange():
                pass
            case _:
                at += tile.stop - tile.start
    return places


def _redacted_tile(tile: Tile, redact: Redact | None) -> Tile:
    if redact is None or not isinstance(tile, EditBlocks):
        return tile
    return structs.replace(tile, replaced=tuple((block, redact(text)) for block, text in tile.replaced))


def _redacted_message(transcript: Transcript, place: int, redact: Redact | None) -> bytes:
    if redact is None:
        return transcript.message_json(place)
    texts = {index: redact(block.text) for index, block in enumerate(transcript.blocks(place))}
    return transcript.rewrite(place, texts)
