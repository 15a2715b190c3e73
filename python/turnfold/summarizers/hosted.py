"""What the summarizers have in common that call a model through an official SDK."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from ssl import SSLContext
from types import ModuleType, TracebackType
from typing import Final, Generic, Protocol, Self, TypeVar
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import msgspec
from msgspec import structs

from turnfold import meter
from turnfold.errors import ArgumentError, MissingExtraError, SummarizerError
from turnfold.model.judgement import ReplyPolicy
from turnfold.model.provider import ProviderRequest
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.planning.provider import provider_body
from turnfold.prompts.prompt import Prompt, Render
from turnfold.prompts.redact import Redact, redacted
from turnfold.summarizers.sdk_faults import fault_from
from turnfold.summarizers.secret import Secret
from turnfold.summarizers.threads import in_thread
from turnfold.transcript import Transcript

TRIES: Final = 3
TIMEOUT_SECONDS: Final = 60.0
CLOSING_SECONDS: Final = 1.0
OFFLOADED_TOKENS: Final = 5_000
"""A prompt of so much source is written in a thread."""

_PREPARED: Final[dict[str, SSLContext]] = {}


class _Client(Protocol):
    async def close(self) -> None: ...


ClientT = TypeVar("ClientT", bound=_Client)


class Hosted(ABC, Generic[ClientT]):
    """A model behind an API: one request a summary, with no tools, no media and no retries of the SDK's own.

    The client is made when it is first needed. Inside `async with` one client serves all calls and is closed at the
    end; outside of it each call makes and closes its own, which is safe in any event loop and costs a connection a
    call. To enter it loads what the SDK loads on first use, which the first call of a process waits for otherwise,
    within its deadline: some 200 ms. A `client` that is passed in is used as it is and never closed.
    """

    _sdk_name: str
    _resource_module: str
    _wire_format: str

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None,
        base_url: str | None,
        client: ClientT | None,
        name: str,
        window_tokens: int | None,
        timeout_seconds: float | None,
        tries: int,
        policy: ReplyPolicy,
        redact: Redact | None,
        render: Render,
        reasoning_tokens: int,
        appends: bool,
    ) -> None:
        if timeout_seconds is not None and not timeout_seconds > 0:
            raise ArgumentError(f"timeout_seconds must be over 0, got {timeout_seconds}")
        if reasoning_tokens < 0:
            raise ArgumentError(f"reasoning_tokens must be at least 0, got {reasoning_tokens}")
        self._sdk = _sdk(self._sdk_name)
        self.model: Final = model
        self._api_key = None if api_key is None else Secret(api_key)
        self._base_url = base_url
        self._given = client
        self._kept: tuple[ClientT, object] | None = None
        self._keeping = False
        self._name = name
        self._timeout_seconds = timeout_seconds
        self._redact = redact
        self._render = render
        self._reasoning_tokens = reasoning_tokens
        self._encoding = meter.encoding_for_model(model).encoding
        self.window_tokens: Final = window_tokens
        self.tries: Final = tries
        self.appends: Final = appends
        self.reply_policy: Final = policy

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, name={self._name!r})"

    @property
    def reserve_tokens(self) -> int | None:
        """What of the window is left for a model that thinks first: its thoughts, and a quarter for the reply."""
        if self.window_tokens is None or not self._reasoning_tokens:
            return None
        return min(self.window_tokens, self._reasoning_tokens + self.window_tokens // 4)

    @property
    def name(self) -> str:
        """What results call it."""
        return self._name

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Send the request's prompt and return the reply. Raises `SummarizerError`; cancellation goes through."""
        if request.source_tokens < OFFLOADED_TOKENS:
            shown, prompt, body = self._written(request)
        else:
            shown, prompt, body = await in_thread(self._written, request)
        secrets: list[str] = [] if self._base_url is None else [urlsplit(self._base_url).password or ""]
        secrets.append(self._key() or "")
        started = anyio.current_time()
        reply: SummaryReply | None = None
        fault = SummarizerError(f"No reply in {self._timeout_seconds} s", "timeout")
        # What is raised is raised outside of the handler, so that it does not carry the SDK's request along.
        with anyio.move_on_after(self._timeout_seconds):
            try:
                async with self._client() as client:
                    secrets.append(str(getattr(client, "api_key", None) or ""))
                    sending = self._send(client, prompt, shown) if body is None else self._send_body(client, body)
                    reply = await sending
            except Exception as error:  # noqa: BLE001  # whatever an SDK raises has a name here
                fault = fault_from(self._sdk, error, *secrets)
        if reply is None:
            raise fault
        text = f"{prompt.lead}{reply.text}" if reply.text.strip() else ""
        return structs.replace(reply, text=text, latency_seconds=anyio.current_time() - started)

    async def __aenter__(self) -> Self:
        self._keeping = True
        if self._given is None:
            await self._prepared()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the client that is kept, if there is one. The summarizer can be used again."""
        kept, self._kept, self._keeping = self._kept, None, False
        if kept is not None:
            await _close(kept[0])

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[ClientT]:
        """Give the client for one call."""
        if self._given is not None:
            yield self._given
            return
        await self._prepared()
        token = anyio.lowlevel.current_token()
        if self._keeping:
            if self._kept is None:
                self._kept = (self._open(_PREPARED[self._sdk_name]), token)
            client, home = self._kept
            # Its connections belong to the loop that it was made in.
            if home == token:
                yield client
                return
        own = self._open(_PREPARED[self._sdk_name])
        try:
            yield own
        finally:
            await _close(own)

    async def _prepared(self) -> None:
        if self._sdk_name not in _PREPARED:
            await in_thread(self._prepare)

    def _prepare(self) -> None:
        """Load what the SDK loads on first use, and the certificates: some 200 ms, once a process."""
        import_module(self._resource_module)
        _PREPARED[self._sdk_name] = import_module("httpx2").create_ssl_context()

    def _key(self) -> str | None:
        return None if self._api_key is None else self._api_key.reveal()

    def _most_output(self, request: SummaryRequest) -> int:
        return request.max_tokens + self._reasoning_tokens

    def _written(self, request: SummaryRequest) -> tuple[SummaryRequest, Prompt, bytes | None]:
        """Return the request as it may be seen, its prompt, and the live request's body if that is sent instead."""
        request = redacted(request, self._redact)
        if self.appends and request.live is not None:
            live = Transcript.from_json(request.live)
            # Another model has another cache, and another provider would not read it.
            if (live.format, live.model) == (self._wire_format, self.model):
                return request, Prompt("", "", 0), self._live_body(live, request)
        prompt = self._render(request)
        self._check_window(prompt, request)
        return request, prompt, None

    def _check_window(self, prompt: Prompt, request: SummaryRequest) -> None:
        """Refuse what the model would refuse, before it costs anything."""
        if self.window_tokens is None:
            return
        tokens = sum(meter.count_many([prompt.system, prompt.user], self._encoding)) + self._most_output(request)
        if tokens > self.window_tokens:
            raise SummarizerError(
                f"The prompt and its answer count {tokens} tokens; the window of {self.model} is {self.window_tokens}",
                "too_long",
            )

    @abstractmethod
    def _open(self, tls: SSLContext) -> ClientT:
        """Make a client that retries nothing itself. Quick: reading certificates is what takes long, and is done."""

    @abstractmethod
    def _live_body(self, live: Transcript, request: SummaryRequest) -> bytes:
        """Return the body to send of a live request, which ends with what is asked for."""

    @abstractmethod
    async def _send_body(self, client: ClientT, body: bytes) -> SummaryReply:
        """Send such a body as it stands."""

    @abstractmethod
    async def _send(self, client: ClientT, prompt: Prompt, request: SummaryRequest) -> SummaryReply:
        """Send a prompt, and read the reply defensively: whatever is no reply raises."""


async def _close(client: _Client) -> None:
    # A cancelled call closes its connection too, but does not wait for one that hangs.
    with anyio.move_on_after(CLOSING_SECONDS, shield=True):
        await client.close()


def _sdk(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(f"This summarizer needs the package {name}: pip install 'turnfold[{name}]'") from error


def count_of(value: object) -> int:
    """Return a number of tokens as a server reports it: 0 for whatever is none."""
    return value if isinstance(value, int) and value > 0 else 0


def body_with(transcript: Transcript, fields: Mapping[str, object], dropped: tuple[str, ...]) -> bytes:
    """Return a request's body with some top-level fields set and others taken out; the rest stays byte for byte."""
    values = tuple((name, msgspec.json.encode(value).decode()) for name, value in fields.items())
    return provider_body(transcript, ProviderRequest("", (), values, dropped))
