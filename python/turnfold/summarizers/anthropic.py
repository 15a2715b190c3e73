"""Summaries by Claude, through the official anthropic package."""

from collections.abc import Mapping
from ssl import SSLContext
from typing import TYPE_CHECKING, Final

from turnfold.errors import SummarizerError
from turnfold.model.judgement import DEFAULT_REPLY_POLICY, ReplyPolicy
from turnfold.model.summary import NO_USAGE, StopReason, SummaryReply, SummaryRequest, Usage
from turnfold.prompts.prompt import Prompt, Render, render_prompt
from turnfold.prompts.redact import Redact
from turnfold.summarizers.hosted import TIMEOUT_SECONDS, TRIES, Hosted, body_with, count_of
from turnfold.transcript import Transcript

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_STOPS: Final[Mapping[object, StopReason]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "tool_use": "tool_call",
}


class Anthropic(Hosted["AsyncAnthropic"]):
    """Asks `model` for a message.

    `api_key` and `base_url` are read from `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL` where they are None, by the
    package itself. The other arguments are those of `OpenAICompatible`. In the usage that is returned the prompt's
    tokens are all of the input: what the provider reports leaves out what its cache was read from and written to.

    With `appends` the live request keeps its `tool_choice` and, if it thinks, its output limit: both are part of what
    the cache is found by.

    Needs the extra `anthropic`; raises `MissingExtraError` without it.
    """

    _sdk_name = "anthropic"
    _wire_format = "anthropic.messages"
    _resource_module = "anthropic.resources.messages"

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: "AsyncAnthropic | None" = None,
        name: str = "anthropic",
        window_tokens: int | None = None,
        timeout_seconds: float | None = TIMEOUT_SECONDS,
        tries: int = TRIES,
        policy: ReplyPolicy = DEFAULT_REPLY_POLICY,
        redact: Redact | None = None,
        render: Render = render_prompt,
        reasoning_tokens: int = 0,
        appends: bool = False,
        sends_temperature: bool = True,
        extra_body: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(
            model,
            api_key=api_key,
            base_url=base_url,
            client=client,
            name=name,
            window_tokens=window_tokens,
            timeout_seconds=timeout_seconds,
            tries=tries,
            policy=policy,
            redact=redact,
            render=render,
            reasoning_tokens=reasoning_tokens,
            appends=appends,
        )
        self._sends_temperature = sends_temperature
        self._extra_body = dict(extra_body or {})

    def _open(self, tls: SSLContext) -> "AsyncAnthropic":
        import anthropic

        return anthropic.AsyncAnthropic(
            api_key=self._key(),
            base_url=self._base_url,
            max_retries=0,
            timeout=self._timeout_seconds,
            http_client=anthropic.DefaultAsyncHttpxClient(verify=tls, timeout=self._timeout_seconds),
        )

    def _live_body(self, live: Transcript, request: SummaryRequest) -> bytes:
        fields = dict(self._extra_body)
        if "thinking" not in (live.request_fields() or ()):
            fields["max_tokens"] = self._most_output(request)
        return body_with(live, fields, ("stream",))

    async def _send_body(self, client: "AsyncAnthropic", body: bytes) -> SummaryReply:
        from anthropic.types import Message

        headers = {"content-type": "application/json"}
        answer: object = await client.with_options(max_retries=0).post(
            "/v1/messages", cast_to=Message, content=body, options={"headers": headers}
        )
        return _reply(answer)

    async def _send(self, client: "AsyncAnthropic", prompt: Prompt, request: SummaryRequest) -> SummaryReply:
        options = dict(self._extra_body)
        if self._sends_temperature:
            options["temperature"] = request.temperature
        if prompt.system:
            options["system"] = prompt.system
        answer: object = await client.with_options(max_retries=0).messages.create(
            model=self.model,
            max_tokens=self._most_output(request),
            messages=[{"role": "user", "content": prompt.user}],
            extra_body=options,
        )
        return _reply(answer)


def _reply(answer: object) -> SummaryReply:
    """Read a message, taking nothing for granted of what came over the wire."""
    content = getattr(answer, "content", None)
    if not isinstance(content, list):
        raise SummarizerError(f"The answer has no list of blocks: it is {type(answer).__name__}", "garbled")
    kinds = [getattr(block, "type", None) for block in content]
    texts = [getattr(block, "text", None) for block in content if getattr(block, "type", None) == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise SummarizerError("A text block of the answer holds no text", "garbled")
    stop = getattr(answer, "stop_reason", None)
    model = getattr(answer, "model", None)
    return SummaryReply(
        text="".join(str(text) for text in texts),
        usage=_usage(getattr(answer, "usage", None)),
        stop=_STOPS.get(stop, None if stop is None else "other"),
        tool_calls=sum(kind in {"tool_use", "server_tool_use", "mcp_tool_use"} for kind in kinds),
        reasoned=any(kind in {"thinking", "redacted_thinking"} for kind in kinds),
        model=model if isinstance(model, str) else None,
    )


def _usage(usage: object) -> Usage:
    if usage is None:
        return NO_USAGE
    read = count_of(getattr(usage, "cache_read_input_tokens", 0))
    written = count_of(getattr(usage, "cache_creation_input_tokens", 0))
    details = getattr(usage, "output_tokens_details", None)
    return Usage(
        prompt_tokens=count_of(getattr(usage, "input_tokens", 0)) + read + written,
        completion_tokens=count_of(getattr(usage, "output_tokens", 0)),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=count_of(getattr(details, "thinking_tokens", 0)),
    )
