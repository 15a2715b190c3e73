"""Answers of ToolBench: a search tree, and the training messages made of it."""

from collections.abc import Iterator
from typing import ClassVar, Final

from turnfold.containers.document import list_of, object_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark


class ToolBench(Listed):
    """`answer_generation.train_messages`: a list of message lists, each a longer prefix of one conversation.

    Each list is a transcript in `openai.chat` with the legacy `function_call` and `function` messages, made of their
    own bytes. The search tree beside it is carried along.
    """

    name: ClassVar[str] = "toolbench"
    title: ClassVar[str] = "ToolBench answers: `answer_generation.train_messages` beside a search tree."

    def mark(self, value: object) -> Mark | None:
        """See the training messages beside the tree."""
        if list_of(value, "answer_generation", "train_messages") and "tree" in object_of(value):
            return Mark("proof", "`answer_generation.train_messages` stands beside `tree`")
        return None

    def conversations(self, value: object) -> Iterator[Conversation]:
        """Find each list."""
        functions = list_of(value, "answer_generation", "function") or None
        for index, messages in enumerate(list_of(value, "answer_generation", "train_messages")):
            if isinstance(messages, list):
                path = ("answer_generation", "train_messages", index)
                yield Conversation(path, head={"functions": functions})


TOOLBENCH: Final = ToolBench()
"""Answers of ToolBench."""
