"""A summarizer that is asked once for what is asked often: forks, retries and rollouts share most of their bytes."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, Protocol

import anyio
import msgspec
from msgspec import structs

from turnfold.model.decodable import decodable
from turnfold.model.summary import NO_USAGE, SummaryReply, SummaryRequest
from turnfold.summarizers.protocol import Summarizer, appends
from turnfold.summarizers.threads import in_thread
from turnfold.summarizers.wrapping import Wrapping

MEMORY_BYTES: Final = 32 << 20
"""Of replies that are kept in memory where no journal keeps them: those used last stay."""

_OFFLOADED_TOKENS: Final = 20_000
_ROWS_AT_ONCE: Final = 256
_DIGESTED_AT_ONCE: Final = 1 << 18  # bytes


class Replies(Protocol):
    """Where replies are kept: `Journal` is one. Its methods may block."""

    def reply(self, key: bytes) -> bytes | None:
        """The reply kept under a key."""

    def remember(self, key: bytes, reply: bytes) -> None:
        """Keep a reply."""


class SharedReplies:
    """The replies that the summarizers of a batch share: in `replies`, or in memory where that is None."""

    def __init__(self, replies: Replies | None = None) -> None:
        self.asked: dict[bytes, anyio.Event] = {}
        self._replies = replies
        self._memory: OrderedDict[bytes, bytes] = OrderedDict()
        self._memory_bytes = 0

    async def find(self, key: bytes) -> SummaryReply | None:
        """Return the reply to an equal request. It costs nothing: its usage is zero."""
        if self._replies is not None:
            kept = await in_thread(self._replies.reply, key)
        else:
            kept = self._memory.get(key)
            if kept is not None:
                self._memory.move_to_end(key)
        if kept is None:
            return None
        return structs.replace(msgspec.msgpack.decode(kept, type=decodable(SummaryReply)), usage=NO_USAGE)

    async def keep(self, key: bytes, reply: SummaryReply) -> None:
        """Keep a reply."""
        data = msgspec.msgpack.encode(reply)
        if self._replies is not None:
            with anyio.CancelScope(shield=True):
                await in_thread(self._replies.remember, key, data)
            return
        self._memory[key] = data
        self._memory_bytes += len(data)
        while self._memory_bytes > MEMORY_BYTES:
            self._memory_bytes -= len(self._memory.popitem(last=False)[1])


class Remembered(Wrapping):
    """Asks `summarizer` once for each request, however often and by however many tasks at once it is made.

    `identity` names what decides the answer beside the request: the model, its settings. Replies that ended early or
    say nothing are handed over and not kept. `reused` counts what this one answered with a reply that was kept.
    """

    def __init__(self, summarizer: Summarizer, replies: SharedReplies, identity: str) -> None:
        super().__init__(summarizer)
        self._replies = replies
        self._identity = identity
        self.reused = 0

    @property
    def appends(self) -> bool:
        """Whether it sends the live request."""
        return appends(self._inner)

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Answer from what is kept, or ask."""
        large = request.source_tokens > _OFFLOADED_TOKENS
        key = await in_thread(self._key, request) if large else self._key(request)
        asked = self._replies.asked
        while (waited_for := asked.get(key)) is not None:
            await waited_for.wait()
        asked[key] = done = anyio.Event()
        try:
            kept = await self._replies.find(key)
            if kept is not None:
                self.reused += 1
                return kept
            reply = await self._inner.summarize(request)
            if _is_whole(reply):
                await self._replies.keep(key, reply)
            return reply
        finally:
            del asked[key]
            done.set()

    def _key(self, request: SummaryRequest) -> bytes:
        return request_key(request, self._identity)


def request_key(request: SummaryRequest, identity: str) -> bytes:
    """Return what equal requests to one summarizer have in common. O(bytes of the request)."""
    digest = hashlib.blake2b(identity.encode() + b"\0", digest_size=20)
    waiting = bytearray()
    for part in _encoded(request):
        waiting += part
        # What is digested in microseconds would let go of the interpreter too shortly for a waiting thread to get it.
        if len(waiting) >= _DIGESTED_AT_ONCE:
            digest.update(waiting)
            waiting.clear()
    digest.update(waiting)
    return digest.digest()


def _encoded(request: SummaryRequest) -> Iterator[bytes]:
    """Write a request, some rows at a time: one call for thousands would keep the interpreter from the event loop."""
    encode = msgspec.msgpack.encode
    tables = (request.messages, request.digests, request.identifiers, request.facts)
    yield encode(structs.replace(request, messages=(), digests=(), identifiers=(), facts=()))
    yield encode([len(rows) for rows in tables])
    for rows in tables:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            yield encode(rows[start : start + _ROWS_AT_ONCE])


def _is_whole(reply: object) -> bool:
    # What is no reply at all is for the chain to judge.
    if not isinstance(reply, SummaryReply) or not isinstance(reply.text, str):
        return False
    return bool(reply.text.strip()) and reply.stop in {None, "end"}
