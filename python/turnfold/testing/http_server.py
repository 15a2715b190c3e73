"""A loopback HTTP server that answers by script, and misbehaves where the script says so.

It runs in the event loop of its caller, on asyncio and on trio, so nothing about it depends on threads or on time.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import anyio
import msgspec
from anyio.abc import SocketAttribute, SocketStream

Trouble = Literal["drop", "hang", "stall", "drip", "cut"]
"""`drop`: the connection is closed without an answer; `hang`: nothing ever comes; `stall`: half of the body comes, and
then nothing; `drip`: the body comes a byte every 10 ms; `cut`: half of the body comes, and the connection is closed."""

_DRIP_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server does with one request. `body` is bytes, or an object that is sent as JSON."""

    body: object = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    trouble: Trouble | None = None

    def encoded(self) -> bytes:
        """Return the body as it is sent."""
        return self.body if isinstance(self.body, bytes) else msgspec.json.encode(self.body)


@dataclass(frozen=True, slots=True)
class Received:
    """One request that came: its head as text, header names in lower case, its body as bytes."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, object]:
        """Return the body as an object."""
        return msgspec.json.decode(self.body, type=dict[str, object])


@dataclass(slots=True)
class ScriptedServer:
    """Answers requests in the order in which they come, the last answer again and again. `url` has no path."""

    url: str
    script: Sequence[Answer]
    received: list[Received] = field(default_factory=list)

    async def _serve(self, stream: SocketStream) -> None:
        async with stream:
            buffered = b""
            try:
                while True:
                    request, buffered = await _read(stream, buffered)
                    answer = self.script[min(len(self.received), len(self.script) - 1)]
                    self.received.append(request)
                    if not await _answer(stream, answer):
                        return
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return


@asynccontextmanager
async def serve(*script: Answer) -> AsyncIterator[ScriptedServer]:
    """Run a server on a free port of 127.0.0.1 while the block lasts."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)  # noqa: S610  # of a socket, not of a query
    server = ScriptedServer(f"http://127.0.0.1:{port}", script)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, server._serve)  # noqa: SLF001  # one class in two parts
        yield server
        group.cancel_scope.cancel()


async def _read(stream: SocketStream, buffered: bytes) -> tuple[Received, bytes]:
    while b"\r\n\r\n" not in buffered:
        buffered += await stream.receive()
    head, _, buffered = buffered.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", "0"))
    while len(buffered) < length:
        buffered += await stream.receive()
    return Received(method, path, headers, buffered[:length]), buffered[length:]


async def _answer(stream: SocketStream, answer: Answer) -> bool:
    """Answer, and say whether the connection stays open."""
    if answer.trouble == "drop":
        return False
    if answer.trouble == "hang":
        await anyio.sleep_forever()
    body = answer.encoded()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} scripted", *(f"{name}: {value}" for name, value in headers.items())]
    await stream.send("\r\n".join([*lines, "", ""]).encode("latin-1"))
    if answer.trouble == "drip":
        for at in range(len(body)):
            await stream.send(body[at : at + 1])
            await anyio.sleep(_DRIP_SECONDS)
    elif answer.trouble is not None:
        await stream.send(body[: len(body) // 2])
        if answer.trouble == "cut":
            return False
        await anyio.sleep_forever()
    else:
        await stream.send(body)
    return True
