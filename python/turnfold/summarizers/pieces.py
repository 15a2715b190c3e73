"""A request that is too long for one call, cut into requests that are not, and their summaries put together again.

Nothing is left out: the pieces' texts, one after the other, are the request's own. Cuts are the transcript's legal ones
where those will do, else between messages, and within a message on the edges of tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from turnfold import meter
from turnfold.model.summary import SourceMessage, SummaryRequest
from turnfold.prompts.prompt import render_prompt
from turnfold.summarizers.fallback import Fallback
from turnfold.transcript import Transcript

MOST_PIECES: Final = 256
"""A source that would take more calls is not sent to a model piece by piece: that is a bill, not a summary."""

LEAST_TOKENS: Final = 24
"""Less than this for what is quoted, or for a piece's summary, and there is no point in a call."""

_NAMES_SHARE: Final = 0.125
_SLACK_SHARE: Final = 0.01  # texts that are joined count a little more or less than each for itself
_CHARACTERS_PER_TOKEN: Final = 128  # no token of ordinary text is longer

_LONGEST_REFUSAL: Final = "injection"
_SAMPLE: Final = "- src/parser.py: the tokenizer drops the minus sign in line 42, so `-1` reads as 1.\n" * 4

Unit = tuple[SourceMessage, ...]


@dataclass(frozen=True, slots=True)
class Room:
    """What one call takes: `limit_tokens` of request, the window without the reserve, and `reply_tokens` of reply.

    Both are as the models of `models` count; None is a model that nobody named, and counts as the transcript's does.
    `asks_again` says that a request may be sent again, with a word on why the reply to it could not be used.
    """

    limit_tokens: int
    reply_tokens: int
    models: tuple[str | None, ...]
    asks_again: bool = False

    def share(self, request: SummaryRequest) -> float:
        """How much of the limit a request fills, by the upper bound of its count. Linear in its text."""
        if self.asks_again:
            request = structs.replace(request, refused=_LONGEST_REFUSAL)
        return max(request_tokens(request, model) for model in self.models) / self.limit_tokens


def room_of(chain: Fallback, request: SummaryRequest) -> Room | None:
    """Return the room in the smallest window of the chain; None where no member names a window."""
    window = chain.window_tokens
    if window is None:
        return None
    reserve = chain.reserve_tokens or min(request.max_tokens, window // 4)
    asks_again = any(member.tries not in {None, 1} for member in chain.members)
    return Room(max(window - reserve, 1), max(min(request.max_tokens, reserve), 1), chain.models, asks_again)


def request_tokens(request: SummaryRequest, model: str | None = None) -> int:
    """Count a request as it is sent, by the upper bound: two messages, with what a provider wraps around them."""
    prompt = render_prompt(request)
    messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
    sent = Transcript.from_messages(messages, format="openai.chat")
    return sent.tokens(encoding=request.encoding if model is None else None, model=model).hi


def cut_request(
    request: SummaryRequest,
    room: Room,
    *,
    is_cut: Callable[[int], bool],
    names: Callable[[int, int], tuple[str, ...]],
) -> tuple[SummaryRequest, ...]:
    """Cut a request into pieces that fit the room, at most `MOST_PIECES`; none where it cannot be done.

    `is_cut` says whether the transcript may be cut before a message, `names` finds the identifiers of messages. What an
    earlier summary says is in no piece: it is for who puts their summaries together. O(text) times a few.
    """
    reply_tokens = partial_tokens(request, room)
    if reply_tokens < LEAST_TOKENS:
        return ()
    blank = structs.replace(_emptied(request), max_tokens=reply_tokens, piece=(MOST_PIECES, MOST_PIECES))
    cutter = _Cutter(blank, room, has_names=bool(request.identifiers))
    if cutter.budget * room.limit_tokens < LEAST_TOKENS:
        return ()
    try:
        pieces = [
            piece for packed in cutter.pack(_units(request.messages, is_cut)) for piece in cutter.verified(packed)
        ]
    except _NoRoomError:
        return ()
    if len(pieces) > MOST_PIECES:
        return ()
    taken: set[int] = set()
    requests: list[SummaryRequest] = []
    for number, piece in enumerate(pieces, 1):
        first = {message.index for message in piece} - taken
        taken.update(first)
        requests.append(
            structs.replace(
                cutter.request(piece, names),
                digests=tuple(digest for digest in request.digests if digest.message in first),
                facts=tuple(facts for facts in request.facts if facts.message in first),
                piece=(number, len(pieces)),
                source_tokens=max(2, _text_tokens(piece, request.encoding)),
            )
        )
    return tuple(requests)


def partial_tokens(request: SummaryRequest, room: Room) -> int:
    """How many tokens a piece's summary may have, so that three of them fit the request that puts them together."""
    empty, sample = (room.share(_joining(request, (text,), room.reply_tokens)) for text in ("", _SAMPLE))
    # Where counts are upper bounds, a token of text costs more than one.
    each = max((sample - empty) / meter.count(_SAMPLE, request.encoding), 1 / room.limit_tokens)
    return min(room.reply_tokens, int((1 - _NAMES_SHARE - empty) / (3 * each)))


def joined_request(request: SummaryRequest, partials: Sequence[str], room: Room, *, last: bool) -> SummaryRequest:
    """Return the request that makes one summary of `partials`; the `last` one makes the whole summary."""
    joining = _joining(request, tuple(partials), room.reply_tokens if last else partial_tokens(request, room))
    if last and request.identifiers:
        joining = structs.replace(joining, identifiers=_some_names(request, room))
        if room.share(joining) > 1:
            joining = structs.replace(joining, identifiers=())
    return joining


def group_partials(request: SummaryRequest, partials: Sequence[str], room: Room) -> list[tuple[str, ...]]:
    """Group summaries of pieces, in order, as many to a group as fit one request: two at least, but for the last."""
    most = partial_tokens(request, room)
    texts = [text for partial in partials for text in _text_pieces(partial, most, request.encoding)]
    empty = room.share(_joining(request, ("",), most))
    groups: list[tuple[str, ...]] = []
    group: tuple[str, ...] = ()
    filled = empty
    for text in texts:
        cost = room.share(_joining(request, ("", text), most)) - empty
        if len(group) > 1 and filled + cost > 1 - _SLACK_SHARE:
            groups.append(group)
            group, filled = (), empty
        group, filled = (*group, text), filled + cost
    return [*groups, group] if group else groups


def _joining(request: SummaryRequest, partials: tuple[str, ...], reply_tokens: int) -> SummaryRequest:
    most = min(request.max_tokens, reply_tokens)
    return structs.replace(_emptied(request), partials=partials, max_tokens=most)


def _emptied(request: SummaryRequest) -> SummaryRequest:
    return structs.replace(request, messages=(), previous=None, digests=(), facts=(), identifiers=())


def _some_names(request: SummaryRequest, room: Room) -> tuple[str, ...]:
    left = int(room.limit_tokens * _NAMES_SHARE)
    for count, tokens in enumerate(meter.count_many([f"{n}\n" for n in request.identifiers], request.encoding)):
        left -= tokens
        if left < 0:
            return request.identifiers[:count]
    return request.identifiers


def _units(messages: Sequence[SourceMessage], is_cut: Callable[[int], bool]) -> Iterator[Unit]:
    """Yield runs of messages with no legal cut inside."""
    unit: list[SourceMessage] = []
    for message in messages:
        if unit and (is_cut(message.index) or message.index != unit[-1].index + 1):
            yield tuple(unit)
            unit = []
        unit.append(message)
    if unit:
        yield tuple(unit)


def _text_tokens(unit: Unit, encoding: str) -> int:
    return sum(meter.count_many([part.text for message in unit for part in message.parts], encoding))


def _text_pieces(text: str, most_tokens: int, encoding: str, first_tokens: int | None = None) -> Iterator[str]:
    """Cut a text on the edges of tokens into pieces of at most `most_tokens`. Linear in the text."""
    at = 0
    size = max(most_tokens if first_tokens is None else first_tokens, 1)
    while at < len(text):
        window = text[at : at + size * _CHARACTERS_PER_TOKEN]
        piece = meter.truncate(window, size, encoding) or window[0]
        yield piece
        at += len(piece)
        size = max(most_tokens, 1)


class _NoRoomError(Exception):
    """What stands around a message's text fills the room by itself."""


class _Cutter:
    """Cuts messages to the share of the room that the empty request leaves."""

    def __init__(self, blank: SummaryRequest, room: Room, *, has_names: bool) -> None:
        self._blank = blank
        self._room = room
        self._empty = room.share(blank)
        self._left = 0.0
        self.budget = 1 - self._empty - _SLACK_SHARE - (_NAMES_SHARE if has_names else 0)

    def pack(self, units: Iterator[Unit]) -> list[Unit]:
        """Put units into as few pieces as the order allows; units that are too large are cut first."""
        packed: list[Unit] = []
        piece: Unit = ()
        self._left = self.budget
        for unit in units:
            for part, cost in self._fitting(unit):
                if piece and cost > self._left:
                    packed.append(piece)
                    piece, self._left = (), self.budget
                piece = (*piece, *part)
                self._left -= cost
        return [*packed, piece] if piece else packed

    def verified(self, piece: Unit) -> Iterator[Unit]:
        """Yield the piece, in smaller ones where it is too large after all."""
        if self._cost(piece) <= self.budget + _SLACK_SHARE:
            yield piece
        elif len(piece) > 1:
            yield from self.verified(piece[: len(piece) // 2])
            yield from self.verified(piece[len(piece) // 2 :])
        else:
            for part in self._smaller(piece[0], 0.8):
                yield from self.verified((part,))

    def request(self, piece: Unit, names: Callable[[int, int], tuple[str, ...]]) -> SummaryRequest:
        """Return the request for a piece, with the names in it that there is room for."""
        request = structs.replace(self._blank, messages=piece)
        found = names(piece[0].index, piece[-1].index + 1)
        if found:
            named = structs.replace(request, identifiers=found)
            named = structs.replace(named, identifiers=_some_names(named, self._room))
            if self._room.share(named) <= 1:
                return named
        return request

    def _cost(self, unit: Unit) -> float:
        return self._room.share(structs.replace(self._blank, messages=unit)) - self._empty

    def _fitting(self, unit: Unit) -> Iterator[tuple[Unit, float]]:
        cost = self._cost(unit)
        if cost <= self.budget:
            yield unit, cost
        elif len(unit) > 1:
            for message in unit:
                yield from self._fitting((message,))
        else:
            for part in self._smaller(unit[0], 1.0):
                yield from self._fitting((part,))

    def _smaller(self, message: SourceMessage, factor: float) -> Iterator[SourceMessage]:
        """Cut one message: between its blocks, or within its only one, to `factor` of what the room takes."""
        if len(message.parts) > 1:
            yield from (structs.replace(message, parts=(part,)) for part in message.parts)
            return
        if not message.parts or len(message.parts[0].text) < 2:  # not to be cut
            raise _NoRoomError
        (part,) = message.parts
        bare = self._cost((structs.replace(message, parts=(structs.replace(part, text=""),)),))
        if bare >= self.budget:
            raise _NoRoomError
        whole = self._cost((message,))
        tokens = meter.count(part.text, self._blank.encoding)
        # Where counts are upper bounds, a token of the text costs more than one.
        each = max((whole - bare) / max(tokens, 1), 1 / self._room.limit_tokens)
        most = int(factor * (self.budget - bare) / each)
        most = min(most, max(tokens // 2, 1)) if most >= tokens else most
        # What is left of the piece before it is filled first, if that is worth a cut.
        left = int(factor * (self._left - bare) / each)
        first = left if most // 4 < left < most else None
        for text in _text_pieces(part.text, most, self._blank.encoding, first):
            yield structs.replace(message, parts=(structs.replace(part, text=text),))
