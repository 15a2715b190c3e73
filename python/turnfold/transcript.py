"""The typed face of one transcript: read, measured, appended to and spliced without touching what is kept."""

import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final, Self, TypeVar, cast

from turnfold import _core
from turnfold.errors import ArgumentError
from turnfold.indexes import Texts, in_range, range_ends
from turnfold.model.blocks import Block, BlockHead, BlockKind, Role
from turnfold.model.counts import CountMode, TokenCount
from turnfold.model.findings import Pair
from turnfold.model.summary import SourcePart, ToolDigest
from turnfold.model.thinking import BoundReasoning
from turnfold.objects import Message, decode, encode, encode_all, listed, read_after

_T = TypeVar("_T")

_Edits = list[tuple[int, tuple[tuple[int, str], ...]]]


class Transcript:
    """One request, read. Immutable, and safe to share between threads.

    Make one with `from_json` or `from_messages`. The bytes (and the caller's objects) of every kept message are handed
    back as they came.
    """

    __slots__ = ("_block_heads", "_fingerprint", "_objects", "_roles", "_seen", "_speakers", "kernel", "known_pairs")

    def __init__(self, kernel: _core.Transcript, objects: Iterable[Message | None] | None = None) -> None:
        self.kernel: Final = kernel
        """The compiled side. Only the faces of the kernel, this module's neighbours, look at it."""
        self.known_pairs: tuple[Pair, ...] | None = None
        """Calls with their results, once a scan has listed them. `checks` alone looks at it."""
        # One a message: the caller's object, or None until it is asked for. None where there is no object yet.
        self._objects = None if objects is None else list(objects)
        # What the objects were made of, where `extend_from` read them.
        self._seen: _core.SeenObjects | None = None
        self._roles: tuple[str, ...] | None = None
        self._speakers: tuple[Role, ...] | None = None
        self._fingerprint: str | None = None
        self._block_heads: tuple[tuple[BlockHead, ...], ...] | None = None

    @classmethod
    def from_json(cls, body: bytes | bytearray | memoryview, *, format: str | None = None) -> Self:
        """Read a whole request body, or a bare array of messages.

        `bytes` are borrowed, not copied. The format is detected unless `format` names it. Raises a `ReadError` with
        the byte offset, and the JSON path where there is one. One pass, O(bytes), other threads run meanwhile.

        Messages that this process counted before are not read again, and a body that goes on from one that it counted
        lately costs what `extend_from` costs. For that, up to 32 MiB of bodies stay in memory, and 64 MiB of counts and
        places of messages, which hold none of their text. Of those few are kept while hardly any comes again.
        """
        return cls(_core.Transcript.from_json(body, format))

    @classmethod
    def extend_from(cls, previous: Self, body: bytes | bytearray | memoryview | Sequence[Message]) -> Self:
        """Read a request body that goes on from `previous`, as each body of an agent's session does.

        The result is that of `from_json(body)` in everything that can be asked, with the format named if the caller
        named that of `previous`, and so are the errors. What both share from the start is found by comparing bytes;
        only the rest is read and, later, counted, and no more of `body` than that is kept. Where less than half is
        shared, or something outside the messages has changed, all is read. O(bytes) of comparison, O(new bytes) of
        everything else; other threads run meanwhile.

        A list of messages is read as `from_messages` reads it. Where `previous` was made so as well, messages at the
        start that hold the very same texts and numbers are not written as JSON again: O(fields) to look, and what was
        changed in place is found. The result holds its texts and numbers for as long as it lives.
        """
        before = kernel_of(previous)
        if isinstance(body, bytes | bytearray | memoryview):
            return cls(_core.Transcript.extend_from(before, body))
        objects = listed(body)
        kernel, seen = read_after(before, previous._seen, objects)
        grown = cls(kernel, objects)
        grown._seen = seen
        return grown

    @classmethod
    def from_messages(cls, messages: Iterable[Message], *, format: str | None = None) -> Self:
        """Read messages that are Python objects already.

        The objects are kept: `messages` of this transcript, and of all made from it, holds the same ones. Don't change
        them afterwards. Raises a `ReadError`; its byte offset is into the JSON that `to_json` would give.
        """
        objects = tuple(messages)
        return cls(_core.Transcript.from_json(encode_all(objects), format), objects)

    def append(self, message: Message | bytes | bytearray | memoryview) -> Self:
        """Return a transcript with one message more, or raise a `ReadError`. All before is shared, counts included."""
        if isinstance(message, Mapping):
            return type(self)(self.kernel.append(encode(message, len(self))), [*self._known(), message])
        if not isinstance(message, bytes | bytearray | memoryview):
            raise TypeError(f"a message is a mapping or its JSON as bytes, not {type(message).__name__}")
        return type(self)(self.kernel.append(message), None if self._objects is None else [*self._objects, None])

    def splice(self, parts: Sequence[range | bytes]) -> Self:
        """Put a transcript together from ranges of this one's messages and from new messages as JSON bytes.

        Ranges stand in order and don't overlap. Their messages keep bytes, objects and counts. Raises a `ReadError`
        for new bytes that are no message, an `ArgumentError` for a range that is not there.
        """
        given: list[tuple[int, int] | bytes] = []
        for part in parts:
            if isinstance(part, bytes):
                given.append(part)
            elif not isinstance(part, range):
                raise TypeError(f"a part is a range or bytes, not {type(part).__name__}")
            else:
                given.append(range_ends(part))
        kernel = self.kernel.splice(given)
        if self._objects is None:
            return type(self)(kernel)
        objects: list[Message | None] = []
        for part in parts:
            objects.extend(self._objects[part.start : part.stop] if isinstance(part, range) else (None,))
        return type(self)(kernel, objects)

    def rearranged(self, kernel: _core.Transcript, kept: Sequence[int | None]) -> Self:
        """Return the transcript of a kernel made from this one's; `kept` says which message of this each one is."""
        if self._objects is None:
            return type(self)(kernel)
        return type(self)(kernel, [None if index is None else self._objects[index] for index in kept])

    def rewrite(self, message_index: int, texts: Texts) -> bytes:
        """Return the JSON of one message with the texts of some blocks replaced, by block index. O(its bytes)."""
        return self._edit(self.kernel.rewrite, [(message_index, texts)])[0]

    def edited(self, edits: Sequence[tuple[int, Texts]]) -> Self:
        """Return a transcript in which these messages, in order, have other texts, as `rewrite` makes them.

        All others keep bytes, objects and counts. O(bytes).
        """
        kernel = self._edit(self.kernel.edited, edits)
        if self._objects is None:
            return type(self)(kernel)
        edited = {index for index, _ in edits}
        return self.rearranged(kernel, [None if index in edited else index for index in range(len(self))])

    def without_blocks(self, message_index: int, block_indexes: Iterable[int]) -> bytes | None:
        """Return the JSON of one message without some of its blocks; every other byte stays.

        A field that loses its last item goes as a whole. None where no block is left, or only reasoning and blank
        text: the message must go. O(bytes of the message).
        """
        gone = sorted({min(block_index, sys.maxsize) for block_index in block_indexes})
        if gone and gone[0] < 0:
            raise ArgumentError(f"There is no block {gone[0]}")
        return self.kernel.without_blocks(self._index(message_index), gone)

    def text_message(self, role: str, text: str) -> bytes:
        """Return the JSON of a new message in this transcript's format, in `role` or the nearest it allows. O(text)."""
        return self.kernel.text_message(role, text)

    def to_json(self) -> bytes:
        """Return the request body: byte for byte the input, where nothing was changed."""
        return self.kernel.to_json()

    def request_fields(self) -> dict[str, bytes] | None:
        """Return the request's top-level fields, each with the bytes of its value; None for a list of messages.

        O(bytes).
        """
        body = self.to_json()
        if body.lstrip()[:1] != b"{":
            return None
        return {name: body[start:stop] for name, start, stop in _core.Json(body).fields([])}

    def message_json(self, message_index: int) -> bytes:
        """Return one message's own bytes."""
        return self.kernel.message_json(self._index(message_index))

    @property
    def messages(self) -> list[Message]:
        """A new list of the messages as objects: the caller's own where given, else decoded once.

        A lone surrogate stays one; of two equal keys the last is seen. The bytes keep both. A number that `int` and
        `float` cannot hold is a `Decimal`.
        """
        found: list[Message] = []
        for index, known in enumerate(self._known()):
            found.append(decode(self.kernel.message_json(index)) if known is None else known)
        self._objects = list[Message | None](found)
        return found

    def _known(self) -> list[Message | None]:
        return [None] * len(self) if self._objects is None else self._objects

    def __len__(self) -> int:
        return len(self.kernel)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        # The kernel never changes: only the caller's objects can.
        return type(self)(self.kernel, copy.deepcopy(self._objects, memo))

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[bytes, str, list[Message | None] | None]]:
        return self._restored, (self.to_json(), self.format, self._objects)

    @classmethod
    def _restored(cls, body: bytes, wire_format: str, objects: Sequence[Message | None] | None) -> Self:
        return cls(_core.Transcript.from_json(body, wire_format), objects)

    def __repr__(self) -> str:
        return f"<Transcript {self.format}, {len(self)} messages>"

    @property
    def format(self) -> str:
        """The wire format: one of `turnfold`'s names, such as `openai.responses`."""
        return self.kernel.format

    @property
    def format_reason(self) -> str:
        """Why that format: the mark that decided, or that the caller named it."""
        return self.kernel.format_reason

    @property
    def model(self) -> str | None:
        """The model that the body names."""
        return self.kernel.model

    @property
    def leading(self) -> int:
        """Number of system and developer messages at the start."""
        return self.kernel.leading

    @property
    def always_alternates(self) -> bool:
        """Whether the format's provider refuses neighbours of one role from everyone."""
        return self.kernel.always_alternates

    @property
    def remote(self) -> bool:
        """Whether the request names earlier items that only the server holds.

        They count as input and stay there whatever is cut here, and a result here may answer a call there. O(blocks).
        """
        return self.kernel.remote

    def bound_reasoning(self, model: str | None = None) -> BoundReasoning | None:
        """Say how the provider binds reasoning to what stands before it; None where it does not.

        `model` overrides the one that the body names.
        """
        found = self.kernel.bound_reasoning(model)
        return None if found is None else BoundReasoning(*found)

    @property
    def roles(self) -> tuple[str, ...]:
        """Each message's role, as the input spells it; where it has none, as `speakers` has it."""
        if self._roles is None:
            self._roles = tuple(self.kernel.roles())
        return self._roles

    @property
    def speakers(self) -> tuple[Role, ...]:
        """Who speaks in each message, in one spelling for all formats. Formats without roles have them by kind."""
        if self._speakers is None:
            self._speakers = tuple(self.kernel.speakers())
        return self._speakers

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change when any byte of the request does. O(bytes), once."""
        self._fingerprint = self._fingerprint or self.kernel.fingerprint()
        return self._fingerprint

    def blocks(self, message_index: int) -> tuple[Block, ...]:
        """Return the blocks of one message. An index that is not there is an `ArgumentError`, here and below."""
        return tuple(Block(*fields) for fields in self.kernel.blocks(self._index(message_index)))

    def said(self, messages: Iterable[int]) -> list[str]:
        """Return what is said in each of these messages: its texts, joined by newlines. O(bytes)."""
        return self.kernel.said(list(messages))

    def parts(self, start: int, stop: int, *, said: bool = False) -> Iterator[tuple[SourcePart, ...]]:
        """Give the blocks of each message of `[start, stop)` as a summarizer is shown them. O(bytes).

        With `said` only what user and model say, text and media, and all of other speakers.
        """
        lengths, kinds, texts, names, ids, failed = self.kernel.parts(start, stop, said)
        parts = map(SourcePart, kinds, texts, names, ids, failed)
        # Nearly every message has one part, and needs no iterator of its own for that.
        return ((next(parts),) if length == 1 else tuple(islice(parts, length)) for length in lengths)

    @property
    def block_heads(self) -> tuple[tuple[BlockHead, ...], ...]:
        """Each message's blocks without their texts. O(blocks) the first time, then remembered."""
        if self._block_heads is None:
            lengths, kinds, names, failed, rewritable, sizes = self.kernel.block_heads()
            heads = map(BlockHead, kinds, names, failed, rewritable, sizes)
            self._block_heads = tuple(tuple(islice(heads, length)) for length in lengths)
        return self._block_heads

    def places(self, kind: BlockKind, start: int = 0) -> list[tuple[int, int, str | None]]:
        """Find the blocks of a kind in messages from `start` on: message, block, the tool's name. O(blocks)."""
        return self.kernel.places(kind, max(start, 0))

    def messages_with(self, part: bytes) -> list[int]:
        """Find the messages whose own bytes hold `part`. O(bytes)."""
        return self.kernel.messages_with(part)

    def identifiers(self, start: int = 0, stop: int | None = None) -> tuple[str, ...]:
        """Find the identifiers in the texts of messages `[start, stop)`: each once, in the order first seen.

        Paths, addresses, ids, names of code and errors; call ids are not among them. Linear in the bytes.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        return self.identifiers_of([range(start, max(start, stop))])

    def identifiers_of(self, ranges: Iterable[range]) -> tuple[str, ...]:
        """Find those in several ranges of messages, in the order of the ranges."""
        return tuple(self.kernel.identifiers([range_ends(part) for part in ranges]))

    def digests(self, start: int = 0, stop: int | None = None) -> tuple[ToolDigest, ...]:
        """Say what each tool call of messages `[start, stop)` did, by rule. Linear in the bytes of both halves."""
        start, stop, _ = slice(start, stop).indices(len(self))
        columns = self.kernel.digests(start, max(start, stop))
        # A loop of the interpreter's, which lets other threads have it, over rows that are no tuples for long.
        return tuple(ToolDigest(*fields) for fields in zip(*columns, strict=True))

    def surviving(self, identifiers: Sequence[str]) -> tuple[bool, ...]:
        """Say of each identifier whether it occurs in a text of this transcript, letter for letter. Linear in both."""
        listed = identifiers if isinstance(identifiers, list | tuple) else list(identifiers)
        return tuple(_core.surviving(listed, self.kernel)) if listed else ()

    def encoding(self, encoding: str | None = None, model: str | None = None) -> str:
        """Return the encoding that counts are made in: the one named, or the model's, or the body's model's."""
        return self.kernel.encoding(model) if encoding is None else encoding

    def tokens(
        self,
        start: int | None = None,
        stop: int | None = None,
        *,
        encoding: str | None = None,
        model: str | None = None,
        mode: CountMode = "exact",
    ) -> TokenCount:
        """Count the whole request, or the messages `[start, stop)` with slice rules.

        The whole request includes tools, system and reply priming. Where a model has another vocabulary than those
        that ship, the count is an interval; naming `encoding` takes it as the model's own. The first count in an
        encoding reads all text; later ones, and those of transcripts that share messages, are O(1).

        A provider that compacted the conversation itself leaves out what precedes its summary: so do `n` and `lo` of
        the whole request, while `hi`, and a range of messages, hold all that is sent.

        `mode="estimate"` estimates the texts of the messages as `turnfold.estimate` does, and remembers no count;
        tools and instructions beside the messages are counted. Its source is "estimate", its interval the envelope's,
        widened by what 99 of 100 texts keep to.

        `mode="bounds"` bounds the texts of messages that were not counted before as `turnfold.bounds` does: `lo` and
        `hi` surely hold those of the exact mode. Its source is "exact" where all was counted, "bounds" where the exact
        mode's is "exact", and "estimate" where that is an estimate itself. Raises an `ArgumentError` for an unknown
        encoding or mode.
        """
        span = self._span(start, stop)
        if mode == "bounds":
            return TokenCount(*self.kernel.bounded_tokens(encoding, model, span))
        if mode == "estimate":
            return TokenCount(*self.kernel.estimated_tokens(encoding, model, span), source="estimate")
        if mode != "exact":
            raise ArgumentError(f'mode is "exact", "bounds" or "estimate", not {mode!r}')
        return TokenCount(*self.kernel.tokens(encoding, model, span))

    def counter(self, encoding: str | None, model: str | None) -> Callable[[int, int], TokenCount]:
        """Return what counts messages `[start, stop)` as `tokens` does."""
        count = partial(self.kernel.tokens, encoding, model)
        return lambda start, stop: TokenCount(*count((start, stop)))

    def each_tokens(self, *, bound: bool, encoding: str | None = None, model: str | None = None) -> list[int]:
        """Count each message alone, as `tokens(index, index + 1)` does: by `hi` for a bound, else by `n`.

        O(messages) after the first count.
        """
        return self.kernel.each_tokens(encoding, model, bound)

    def fits(
        self,
        limit_tokens: int,
        start: int | None = None,
        stop: int | None = None,
        *,
        encoding: str | None = None,
        model: str | None = None,
    ) -> bool:
        """Say whether `tokens(...).hi` is at most `limit_tokens`: whether the request, or its part, surely fits.

        Answers from the bounds of `mode="bounds"` where the limit is outside of them. Where it is inside, messages are
        counted and remembered, the least sure first, until the rest's bounds tell. Raises an `ArgumentError` for a
        negative limit or an unknown encoding.
        """
        if limit_tokens < 0:
            raise ArgumentError(f"A number of tokens is not negative: {limit_tokens}")
        return self.kernel.fits(min(limit_tokens, sys.maxsize), encoding, model, self._span(start, stop))

    def block_tokens(self, message_index: int, *, encoding: str | None = None, model: str | None = None) -> list[int]:
        """Count the text of each block of one message in an encoding, whatever the provider's is. O(its bytes)."""
        return self.kernel.block_tokens(self.encoding(encoding, model), self._index(message_index))

    def edited_tokens(
        self, edits: Iterable[tuple[int, Texts]], *, bound: bool, encoding: str | None = None, model: str | None = None
    ) -> list[int]:
        """Count what messages would, each with the texts of some blocks replaced as in `rewrite`: one number an edit.

        By `hi` for a bound, else by `n`. O(bytes of those messages).
        """
        count = partial(self.kernel.edited_tokens, encoding, model, bound)
        return self._edit(count, edits)

    def _edit(self, edit: Callable[[_Edits], _T], edits: Iterable[tuple[int, Texts]]) -> _T:
        given = list(edits)
        try:
            return edit(cast(_Edits, given))
        except (TypeError, OverflowError):  # no pairs yet, or an index that is negative or larger than any machine's
            pass
        return edit([(self._index(index), in_range(texts)) for index, texts in given])

    def _span(self, start: int | None, stop: int | None) -> tuple[int, int] | None:
        if start is None and stop is None:
            return None
        first, last, _ = slice(start, stop).indices(len(self))
        return first, max(first, last)

    def _index(self, message_index: int) -> int:
        if not 0 <= message_index < len(self):
            raise ArgumentError(f"There is no message {message_index}: the transcript has {len(self)}")
        return message_index


def kernel_of(transcript: object) -> _core.Transcript:
    """Return a transcript's compiled side; raise a `TypeError` that says how to make one from anything else."""
    if isinstance(transcript, Transcript):
        return transcript.kernel
    given = type(transcript).__name__
    raise TypeError(f"a Transcript is needed, not {given}: make one with Transcript.from_messages or from_json")
