"""A summary that is asked for behind the live request itself: the prompt cache holds all of it but the last message."""

import msgspec
import pytest

from turnfold import compare_prefix
from turnfold.compactor import compact
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.planning.apply import CompactionResult
from turnfold.prompts.redact import redacted
from turnfold.summarizers import Fallback
from turnfold.testing.fakes import replying
from turnfold.testing.virtual_time import BACKENDS, Backend, run_virtual
from turnfold.transcript import Transcript

POLICY = Policy(OnRequest(), (Summarize(KeepMessages(2)),), name="test")
PROSE = "The build failed again and nobody knows why. "


class Appending:
    """Sends the live request, or the quotation where there is none."""

    name = "appending"
    appends = True

    def __init__(self, window_tokens: int | None = None) -> None:
        self.window_tokens = window_tokens
        self.requests: list[SummaryRequest] = []

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.requests.append(request)
        return SummaryReply("The build failed.")


def body(wire_format: str, *, pending: bool = False) -> bytes:
    messages: list[dict[str, object]] = []
    for k in range(6):
        messages.append({"role": "user", "content": f"Question {k} about src/a{k}.py. {PROSE * 20}"})
        messages.append({"role": "assistant", "content": f"Answer {k}. {PROSE * 20}".strip()})
    if pending:
        call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        messages[-1] = {"role": "assistant", "content": None, "tool_calls": [call]}
    request: dict[str, object] = {"model": "gpt-4o", "tools": [], "messages": messages, "user": "u1"}
    if wire_format == "anthropic.messages":
        request = {"model": "claude-sonnet-4-5", "system": "You are careful.", "max_tokens": 99, "messages": messages}
    return msgspec.json.encode(request)


async def asked(transcript: Transcript, summarizer: Appending) -> SummaryRequest:
    result = await compact(transcript, POLICY, summarizer)
    assert isinstance(result, CompactionResult)
    assert result.method == "appending"
    return summarizer.requests[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("wire_format", ["openai.chat", "anthropic.messages"])
def test_the_live_request_is_an_exact_prefix(backend: Backend, wire_format: str) -> None:
    transcript = Transcript.from_json(body(wire_format), format=wire_format)

    async def main() -> None:
        request = await asked(transcript, Appending())
        assert request.live is not None
        live = Transcript.from_json(request.live, format=wire_format)
        shared = compare_prefix(transcript, live)
        assert shared.before_is_prefix
        assert (shared.messages, len(live)) == (len(transcript), len(transcript) + 1)
        assert [live.message_json(k) for k in range(len(transcript))] == [
            transcript.message_json(k) for k in range(len(transcript))
        ]
        assert live.blocks(len(transcript))[0].text.endswith("Write only the summary.")
        assert redacted(request, lambda text: text).live is None

    run_virtual(main, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_where_it_cannot_be_appended_it_is_quoted(backend: Backend) -> None:
    async def main() -> None:
        waiting = Transcript.from_json(body("openai.chat", pending=True), format="openai.chat")
        assert (await asked(waiting, Appending())).live is None
        transcript = Transcript.from_json(body("openai.chat"), format="openai.chat")
        small = Appending(window_tokens=1_500)
        assert (await asked(transcript, small)).live is None
        assert any(request.piece for request in small.requests)
        large = Appending(window_tokens=100_000)
        assert (await asked(transcript, large)).live is not None
        quoting = replying("The build failed.")
        quoting.window_tokens = 1_500
        assert not Fallback(large, quoting).appends
        assert not Fallback(quoting).appends
        assert not Fallback().appends

    run_virtual(main, backend)
