"""A summarizer that is asked once for what is asked often: forks, retries and rollouts share most of their bytes."""

import hashlib
from typing import Protocol

import anyio
import msgspec

from turnfold.model.summary import NO_USAGE, SummaryReply, SummaryRequest
from turnfold.summarizers.protocol import Summarizer
from turnfold.summarizers.threads import in_thread
from turnfold.summarizers.wrapping import Wrapping


class Replies(Protocol):
    """Where replies are kept: `Journal` is one."""

    def reply(self, key: bytes) -> bytes | None:
        """The reply kept under a key."""

    def remember(self, key: bytes, reply: bytes) -> None:
        """Keep a reply."""


class Remembered(Wrapping):
    """Asks `summarizer` once for each request, however often and by however many tasks at once it is made.

    `identity` names what decides the answer beside the request: the model, its settings. Replies that ended early or
    say nothing are handed over and not kept. A reply that was kept costs nothing: its usage is zero, and `reused`
    counts it.
    """

    def __init__(self, summarizer: Summarizer, replies: Replies, identity: str) -> None:
        super().__init__(summarizer)
        self._replies = replies
        self._identity = identity.encode()
        self._asked: dict[bytes, anyio.Event] = {}
        self.reused = 0

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Answer from what is kept, or ask."""
        key = hashlib.blake2b(self._identity + b"\0" + msgspec.msgpack.encode(request), digest_size=20).digest()
        while (asked := self._asked.get(key)) is not None:
            await asked.wait()
        self._asked[key] = done = anyio.Event()
        try:
            kept = await in_thread(self._replies.reply, key)
            if kept is not None:
                self.reused += 1
                return msgspec.structs.replace(msgspec.msgpack.decode(kept, type=SummaryReply), usage=NO_USAGE)
            reply = await self._inner.summarize(request)
            if reply.text.strip() and reply.stop in {None, "end"}:
                with anyio.CancelScope(shield=True):
                    await in_thread(self._replies.remember, key, msgspec.msgpack.encode(reply))
            return reply
        finally:
            del self._asked[key]
            done.set()
