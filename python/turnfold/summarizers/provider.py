"""A compaction that the provider makes itself: its request is sent, and the answer becomes a transcript."""

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec

from turnfold import checks
from turnfold.errors import ArgumentError, SummarizerError, TurnfoldError
from turnfold.model.decodable import decodable
from turnfold.model.provider import ProviderRequest
from turnfold.model.summary import NO_USAGE, Usage
from turnfold.planning.provider import provider_body
from turnfold.prompts.redact import Redact, redacted_body
from turnfold.summarizers.hosted import TIMEOUT_SECONDS, count_of
from turnfold.summarizers.sdk_faults import fault_from
from turnfold.summarizers.threads import in_thread
from turnfold.transcript import Transcript

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

_FORMATS: Final = {"openai.responses": "openai", "anthropic.messages": "anthropic"}


class ProviderCompaction(msgspec.Struct, frozen=True):
    """What the provider made of a conversation, and what that cost.

    `transcript` is the request with its messages replaced. What came from the provider stands in it byte for byte, as
    it must when it is sent again: it may be sealed.
    """

    transcript: Transcript
    usage: Usage
    model: str | None


class _OpenAIAnswer(msgspec.Struct):
    output: list[msgspec.Raw]
    usage: dict[str, object] | None = None
    model: str | None = None


class _AnthropicAnswer(msgspec.Struct):
    content: list[msgspec.Raw]
    usage: dict[str, object] | None = None
    model: str | None = None


class _Block(msgspec.Struct):
    type: str
    content: str | None = None


async def compact_at_provider(
    transcript: Transcript,
    request: ProviderRequest,
    client: "AsyncOpenAI | AsyncAnthropic",
    *,
    redact: Redact | None = None,
    timeout_seconds: float | None = TIMEOUT_SECONDS,
) -> ProviderCompaction:
    """Send `request`, which the preset `provider_compaction` made for `transcript`, and read the answer.

    OpenAI Responses gives the user's messages and one sealed item; Anthropic Messages one block that stands for all
    messages, the last one included: a message of the user comes next. Works on asyncio and trio; nothing is retried.

    `redact` is applied to every string of the request before it is sent: texts, names of tools and of fields,
    instructions, metadata. It must leave alone what the request is made of (roles, types, the model) and what the
    provider sealed or signed; where it makes the request invalid nothing is sent. The transcript that comes back holds
    what the provider made of the redacted messages, beside its own fields as they were.

    Raises `SummarizerError` where the call fails, `redact` raises or the provider says that its compaction failed, and
    `ArgumentError` for a client of another provider.
    """
    sdk_name = _FORMATS.get(transcript.format, "")
    if type(client).__module__.partition(".")[0] != sdk_name:
        raise ArgumentError(f"A transcript in {transcript.format} is not compacted by {type(client).__name__}")
    body = await in_thread(_body, transcript, request, redact)
    fault = SummarizerError(f"No reply in {timeout_seconds} s", "timeout")
    with anyio.move_on_after(timeout_seconds):
        try:
            return _read(transcript, await _send(client, sdk_name, request, body))
        except Exception as error:  # noqa: BLE001  # whatever an SDK raises has a name here
            fault = fault_from(import_module(sdk_name), error, str(getattr(client, "api_key", None) or ""))
    raise fault


def _body(transcript: Transcript, request: ProviderRequest, redact: Redact | None) -> bytes:
    body = provider_body(transcript, request)
    if redact is None:
        return body
    body = redacted_body(body, redact)
    # What a message's fault says may quote it.
    with suppress(TurnfoldError):
        if checks.scan(Transcript.from_json(body, format=transcript.format)).ok:
            return body
    raise SummarizerError("The redaction hook made the request one that the provider refuses: nothing was sent")


async def _send(client: "AsyncOpenAI | AsyncAnthropic", sdk_name: str, request: ProviderRequest, body: bytes) -> bytes:
    path = request.endpoint.partition(" ")[2]
    # OpenAI's package has the version in its base URL, Anthropic's in its paths.
    path = path.removeprefix("/v1") if sdk_name == "openai" else path
    headers = {"content-type": "application/json", **dict(request.headers)}
    sender: Any = client.with_options(max_retries=0)
    answer = await sender.post(
        path, cast_to=import_module("httpx2").Response, content=body, options={"headers": headers}
    )
    content: bytes = answer.content
    return content


def _read(transcript: Transcript, answer: bytes) -> ProviderCompaction:
    if transcript.format == "openai.responses":
        compacted = msgspec.json.decode(answer, type=decodable(_OpenAIAnswer))
        if not compacted.output:
            raise SummarizerError("The answer has no items", "garbled")
        # The items stand for what the server held, too.
        made = _with_messages(transcript, "input", compacted.output, ("previous_response_id",))
        return ProviderCompaction(made, _openai_usage(compacted.usage or {}), compacted.model)
    message = msgspec.json.decode(answer, type=decodable(_AnthropicAnswer))
    blocks = [raw for raw in message.content if msgspec.json.decode(raw, type=decodable(_Block)).type == "compaction"]
    if len(blocks) != 1:
        raise SummarizerError(f"The answer has {len(blocks)} compactions instead of one", "garbled")
    if not msgspec.json.decode(blocks[0], type=decodable(_Block)).content:
        raise SummarizerError("The provider says that its compaction failed", "unavailable")
    turn = msgspec.Raw(b'{"role":"assistant","content":[' + bytes(blocks[0]) + b"]}")
    made = _with_messages(transcript, "messages", [turn], ("compaction", "context_management"))
    return ProviderCompaction(made, _anthropic_usage(message.usage or {}), message.model)


def _with_messages(
    transcript: Transcript, field: str, messages: list[msgspec.Raw], dropped: tuple[str, ...]
) -> Transcript:
    text = b"[" + b",".join(bytes(message) for message in messages) + b"]"
    body = provider_body(transcript, ProviderRequest("", (), ((field, text.decode()),), dropped))
    return Transcript.from_json(body, format=transcript.format)


def _openai_usage(usage: dict[str, object]) -> Usage:
    prompt, output = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    return Usage(
        prompt_tokens=count_of(usage.get("input_tokens")),
        completion_tokens=count_of(usage.get("output_tokens")),
        cache_read_tokens=count_of(prompt.get("cached_tokens")) if isinstance(prompt, dict) else 0,
        cache_write_tokens=count_of(prompt.get("cache_write_tokens")) if isinstance(prompt, dict) else 0,
        reasoning_tokens=count_of(output.get("reasoning_tokens")) if isinstance(output, dict) else 0,
    )


def _anthropic_usage(usage: dict[str, object]) -> Usage:
    """Read the usage. What compactions used is in `iterations`, and not among the totals."""
    entries = usage.get("iterations")
    rows = entries if isinstance(entries, list) and entries else [usage]
    total = NO_USAGE
    for row in rows:
        if isinstance(row, dict):
            read, written = (count_of(row.get(f"cache_{kind}_input_tokens")) for kind in ("read", "creation"))
            prompt = count_of(row.get("input_tokens")) + read + written
            total += Usage(prompt, count_of(row.get("output_tokens")), read, written)
    return total
