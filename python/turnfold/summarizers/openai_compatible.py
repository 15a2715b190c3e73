"""Summaries by any server with OpenAI's chat completions, through the official openai package."""

from collections.abc import Mapping
from ssl import SSLContext
from typing import TYPE_CHECKING, Final, Literal

from turnfold.errors import SummarizerError
from turnfold.model.judgement import DEFAULT_REPLY_POLICY, ReplyPolicy
from turnfold.model.summary import NO_USAGE, StopReason, SummaryReply, SummaryRequest, Usage
from turnfold.prompts.prompt import Prompt, Render, render_prompt
from turnfold.prompts.redact import Redact
from turnfold.summarizers.hosted import TIMEOUT_SECONDS, TRIES, Hosted, body_with, count_of
from turnfold.transcript import Transcript

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletionMessageParam

OutputLimit = Literal["max_completion_tokens", "max_tokens"]
"""The field that limits the output: the former is OpenAI's, the latter what other servers know."""

_STOPS: Final[Mapping[object, StopReason]] = {
    "stop": "end",
    "length": "length",
    "content_filter": "refusal",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
}


class OpenAICompatible(Hosted["AsyncOpenAI"]):
    """Asks `model` at `base_url` (OpenAI's own where it is None) for a chat completion.

    `api_key` and `base_url` are read from `OPENAI_API_KEY` and `OPENAI_BASE_URL` where they are None, by the package
    itself. A server without keys wants any text. `window_tokens` is how much the model takes: what is longer
    is refused before it is sent. `timeout_seconds` is for one request, `tries` how many a chain may make for a summary.
    `reasoning_tokens` is what the model may spend on thinking, on top of the summary's cap. A model that takes no
    temperature is not sent one where `sends_temperature` is false. `extra_body` are further fields of the request.
    `redact` is applied to every text of the conversation before it is sent, `render` makes the prompt of it: a base
    model wants `turnfold.prompts.completion.render_completion`.

    With `appends` a live request that is for the same model is not quoted but sent, tools included, with `tool_choice`
    none and what is asked for as its last message, so that the provider's cache serves all before it. Text of the
    conversation is not quoted as data then.

    Needs the extra `openai`; raises `MissingExtraError` without it.
    """

    _sdk_name = "openai"
    _wire_format = "openai.chat"
    _resource_module = "openai.resources.chat.completions"

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: "AsyncOpenAI | None" = None,
        name: str = "openai_compatible",
        window_tokens: int | None = None,
        timeout_seconds: float | None = TIMEOUT_SECONDS,
        tries: int = TRIES,
        policy: ReplyPolicy = DEFAULT_REPLY_POLICY,
        redact: Redact | None = None,
        render: Render = render_prompt,
        reasoning_tokens: int = 0,
        appends: bool = False,
        sends_temperature: bool = True,
        output_limit: OutputLimit | None = None,
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
        own = base_url is None and client is None
        self._output_limit: OutputLimit = output_limit or ("max_completion_tokens" if own else "max_tokens")
        self._sends_temperature = sends_temperature
        self._extra_body = dict(extra_body or {})

    def _open(self, tls: SSLContext) -> "AsyncOpenAI":
        import openai

        return openai.AsyncOpenAI(
            api_key=self._key(),
            base_url=self._base_url,
            max_retries=0,
            timeout=self._timeout_seconds,
            http_client=openai.DefaultAsyncHttpxClient(verify=tls, timeout=self._timeout_seconds),
        )

    def _live_body(self, live: Transcript, request: SummaryRequest) -> bytes:
        fields: dict[str, object] = {self._output_limit: self._most_output(request), **self._extra_body}
        if self._sends_temperature:
            fields["temperature"] = request.temperature
        if "tools" in (live.request_fields() or ()):
            fields["tool_choice"] = "none"
        other = {"max_completion_tokens", "max_tokens"} - {self._output_limit}
        return body_with(live, fields, ("stream", "stream_options", "n", "response_format", *other))

    async def _send_body(self, client: "AsyncOpenAI", body: bytes) -> SummaryReply:
        from openai.types.chat import ChatCompletion

        headers = {"content-type": "application/json"}
        answer: object = await client.with_options(max_retries=0).post(
            "/chat/completions", cast_to=ChatCompletion, content=body, options={"headers": headers}
        )
        return _reply(answer)

    async def _send(self, client: "AsyncOpenAI", prompt: Prompt, request: SummaryRequest) -> SummaryReply:
        options: dict[str, object] = {self._output_limit: self._most_output(request), **self._extra_body}
        if self._sends_temperature:
            options["temperature"] = request.temperature
        messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": prompt.user}]
        if prompt.system:
            messages.insert(0, {"role": "system", "content": prompt.system})
        # A client of the caller's own may retry by itself: then nothing would be retried twice but the waits.
        answer: object = await client.with_options(max_retries=0).chat.completions.create(
            model=self.model,
            messages=messages,
            extra_body=options,
        )
        return _reply(answer)


def _reply(answer: object) -> SummaryReply:
    """Read a completion. The package builds its objects from whatever JSON came, so nothing is taken for granted."""
    choices = getattr(answer, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(choice, "message", None)
    if message is None:
        raise SummarizerError(f"The answer has no choice with a message: it is {type(answer).__name__}", "garbled")
    content = getattr(message, "content", None)
    if content is not None and not isinstance(content, str):
        raise SummarizerError(f"The content of the message is {type(content).__name__}, not text", "garbled")
    calls = getattr(message, "tool_calls", None)
    refused = bool(getattr(message, "refusal", None))
    finish = getattr(choice, "finish_reason", None)
    usage = _usage(getattr(answer, "usage", None))
    model = getattr(answer, "model", None)
    thoughts = (getattr(message, name, None) for name in ("reasoning_content", "reasoning"))
    return SummaryReply(
        text=content or "",
        usage=usage,
        stop="refusal" if refused else _STOPS.get(finish, None if finish is None else "other"),
        tool_calls=len(calls) if isinstance(calls, list) else 0,
        reasoned=any(thoughts) or usage.reasoning_tokens > 0,
        model=model if isinstance(model, str) else None,
    )


def _usage(usage: object) -> Usage:
    """Read the usage: OpenAI counts cached tokens among the prompt's, and so do the servers that report them."""
    if usage is None:
        return NO_USAGE
    prompt = getattr(usage, "prompt_tokens_details", None)
    completion = getattr(usage, "completion_tokens_details", None)
    return Usage(
        prompt_tokens=count_of(getattr(usage, "prompt_tokens", 0)),
        completion_tokens=count_of(getattr(usage, "completion_tokens", 0)),
        # DeepSeek has a field of its own.
        cache_read_tokens=count_of(getattr(prompt, "cached_tokens", 0) or getattr(usage, "prompt_cache_hit_tokens", 0)),
        cache_write_tokens=count_of(getattr(prompt, "cache_write_tokens", 0)),
        reasoning_tokens=count_of(getattr(completion, "reasoning_tokens", 0)),
    )
