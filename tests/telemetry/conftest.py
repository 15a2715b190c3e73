import anyio
import pytest

from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.objects import Message
from turnfold.transcript import Transcript

PROSE = "The build failed again and nobody knows why, so we looked at every line of the log. "


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def transcript() -> Transcript:
    messages: list[Message] = [{"role": "system", "content": "You are careful."}]
    for k in range(5):
        messages.append({"role": "user", "content": f"Question {k} about src/a{k}.py. {PROSE * 5}"})
        messages.append({"role": "assistant", "content": f"Answer {k}. {PROSE * 5}"})
    return Transcript.from_messages(messages, format="openai.chat")


@pytest.fixture
def policy() -> Policy:
    return Policy(OnRequest(), (Summarize(KeepMessages(2)),), name="test")


class Cancelling:
    """Cancels `scope` once it is asked, and hangs: how long that takes is nobody's affair."""

    name = "cancelling"

    def __init__(self, scope: anyio.CancelScope) -> None:
        self._scope = scope

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self._scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError(request)


@pytest.fixture
def cancelling() -> type[Cancelling]:
    return Cancelling
