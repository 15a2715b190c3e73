"""Results of MINT: a task with the state of its conversation, one a line."""

from collections.abc import Iterator
from typing import ClassVar, Final

from turnfold.containers.document import at, list_of, object_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark


class Mint(Listed):
    """`{"state": {"history": [{"role", "content"}], ...}, "task": {...}}`, one a line.

    The view is `openai.chat`, made of the messages' own bytes. Calls are `<execute>` text of the assistant and results
    are user messages: they are texts here, as the model saw them.
    """

    name: ClassVar[str] = "mint"
    title: ClassVar[str] = "MINT results: `state.history` beside `task`, one a line."

    def mark(self, value: object) -> Mark | None:
        """See the history beside the task."""
        if list_of(value, "state", "history") and "task_name" in object_of(value, "task"):
            return Mark("proof", "`state.history` stands beside `task`")
        return None

    def conversations(self, value: object) -> Iterator[Conversation]:
        """Find the history."""
        if isinstance(at(value, ("state", "history")), list):
            yield Conversation(("state", "history"))


MINT: Final = Mint()
"""Results of MINT."""
