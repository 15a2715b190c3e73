"""What a summarizer is given: all of what a hole replaces, as plain text, and the facts that rules find in it."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import structs

from turnfold import checks
from turnfold.meter import count_many, truncate_middle
from turnfold.model.plan import SummaryHole
from turnfold.model.scan import ScanOptions
from turnfold.model.summary import SourceMessage, SourcePart, SummaryRequest, ToolDigest
from turnfold.planning.fill import Opening
from turnfold.transcript import Transcript

_AT_ONCE: Final = 1024
"""So many messages are read at a time. With few of them the kernel would let go of the interpreter again and again,
each time too shortly for a thread that waits for it."""


def summary_request(transcript: Transcript, opening: Opening, *, by_rule: bool = False) -> SummaryRequest:
    """Build the request for one hole. O(bytes of what it replaces).

    Where it is answered `by_rule`, its messages are without what user and model do beside what they say: digests tell
    of that.
    """
    hole, previous = opening.hole, opening.selection.previous
    start = hole.start if previous is None else hole.start + 1
    gone = [range(max(start, going.start), going.stop) for going in hole.gone]
    messages = [message for going in gone for message in _source_messages(transcript, going, opening, by_rule=by_rule)]
    if previous is not None and previous.latest is not None and previous.latest != opening.quotes.latest:
        # What the earlier summary quoted as the request in work is history now, and stands nowhere else.
        messages.insert(0, SourceMessage(hole.start, "user", (SourcePart("text", previous.latest),)))
    goal = opening.goal()
    if goal is not None:
        messages.insert(0, goal)
    return SummaryRequest(
        messages=tuple(messages),
        task=opening.quotes.task,
        latest=opening.quotes.latest,
        previous=None if previous is None else previous.body,
        digests=_digests(transcript, gone),
        identifiers=opening.identifiers,
        max_tokens=opening.room_tokens,
        source_tokens=opening.source_tokens,
        encoding=opening.encoding,
        schema=hole.schema,
        temperature=hole.temperature,
        record=opening.record,
        facts=opening.facts(),
        by_rule=hole.model_input_tokens is not None and opening.source_tokens > hole.model_input_tokens,
    )


def _digests(transcript: Transcript, ranges: Sequence[range]) -> tuple[ToolDigest, ...]:
    """Return the digests of the calls in ranges of messages, which stand in order."""
    if not ranges:
        return ()
    going = {index for part in ranges for index in part}
    found = transcript.digests(ranges[0].start, ranges[-1].stop)
    return tuple(digest for digest in found if digest.message in going)


def live_request(
    transcript: Transcript, instruction: str, options: ScanOptions, room_tokens: int | None = None
) -> Transcript | None:
    """Return the live request with `instruction` as one more message of the user; every byte before it is the same.

    None where that breaks a rule of the provider (a call waits for its result), or counts more than `room_tokens`.
    O(messages) after the transcript's first count.
    """
    appended = transcript.append(transcript.text_message("user", instruction))
    if room_tokens is not None and appended.tokens().hi > room_tokens:
        return None
    return appended if checks.scan(appended, options, before=transcript).ok else None


def shown_share(transcript: Transcript, opening: Opening) -> float:
    """Return how much of what goes a request shows, of its tokens: 1.0 but where the hole clips. O(bytes)."""
    hole = opening.hole
    if hole.reasoning_tokens is None and hole.result_tokens is None:
        return 1.0
    gone = [transcript.blocks(index) for going in hole.gone for index in going]
    texts = [(block.text, _clipped(block.kind, block.text, hole, opening.encoding)) for one in gone for block in one]
    whole = sum(count_many([text for text, _ in texts], opening.encoding))
    shown = sum(count_many([text for _, text in texts], opening.encoding))
    return min(1.0, shown / whole) if whole else 1.0


def _clipped(kind: str, text: str, hole: SummaryHole, encoding: str) -> str:
    limit = {"reasoning": hole.reasoning_tokens, "tool_result": hole.result_tokens}.get(kind)
    return text if limit is None else truncate_middle(text, limit, encoding)


def _source_messages(
    transcript: Transcript, going: range, opening: Opening, *, by_rule: bool
) -> Iterator[SourceMessage]:
    hole, encoding = opening.hole, opening.encoding
    speakers = transcript.speakers
    clips = hole.reasoning_tokens is not None or hole.result_tokens is not None
    for start in range(going.start, going.stop, _AT_ONCE):
        some = range(start, min(start + _AT_ONCE, going.stop))
        for index, found in zip(some, transcript.parts(some.start, some.stop, said=by_rule), strict=True):
            if clips:
                clipped = (_clipped(part.kind, part.text, hole, encoding) for part in found)
                shown = tuple(structs.replace(part, text=text) for part, text in zip(found, clipped, strict=True))
                yield SourceMessage(index, speakers[index], shown)
            else:
                yield SourceMessage(index, speakers[index], found)
