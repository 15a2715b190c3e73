"""Logs of completions as LiteLLM callbacks write them: a request and its response in one object."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from turnfold.containers.document import at, list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark


class LiteLlmLog(Listed):
    """`{"messages", "tools", "kwargs", "response": {"choices", "usage"}, "cost", "timestamp"}`, one a file or line.

    The view is `openai.chat`, made of the messages' own bytes; the answer in `response.choices[0].message` is its last
    message. `tools` are those beside the messages; the same in `kwargs` is carried along.
    """

    name: ClassVar[str] = "litellm_log"
    title: ClassVar[str] = "LiteLLM completion logs: `messages` and their `response` in one object."

    def mark(self, value: object) -> Mark | None:
        """See messages beside the response to them."""
        if list_of(value, "messages") and list_of(value, "response", "choices") and "kwargs" in object_of(value):
            return Mark("proof", "`messages` stand beside `kwargs` and `response.choices`")
        return None

    def conversations(self, value: object) -> Iterator[Conversation]:
        """Find the messages, and the answer to them."""
        if not isinstance(object_of(value).get("messages"), list):
            return
        answer = at(value, ("response", "choices", 0, "message"))
        yield Conversation(
            ("messages",),
            text_of(value, "response", "id"),
            {"model": text_of(value, "response", "model"), "tools": object_of(value).get("tools")},
            after=(answer,) if isinstance(answer, Mapping) else (),
        )


LITELLM_LOG: Final = LiteLlmLog()
"""Logs of completions."""
