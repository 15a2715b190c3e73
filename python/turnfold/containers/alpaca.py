"""Fine-tuning data in Alpaca's form, as LLaMA-Factory reads it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, decode, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark
from turnfold.containers.view import ChatView

_ANSWERS: Final = ("output", "chosen")


class Alpaca(Listed):
    """A list of `{"instruction", "input", "output", "history": [["asked", "answered"]]}`, or one object a line.

    The view is `openai.chat`: `system`, the pairs of `history`, then the user's instruction and input with a line break
    between, and the output; where there are `chosen` and `rejected` answers, the chosen one. The last exchange stands
    outside of the history, so a compaction keeps it.

    A summary is a pair in the place of those that go, with nothing said on its other side. A pair of which one side
    goes and the other stays cannot be cut.
    """

    name: ClassVar[str] = "alpaca"
    title: ClassVar[str] = "Alpaca data: `instruction`, `input`, `output` and a `history` of pairs."

    def mark(self, value: object) -> Mark | None:
        """See an instruction with an answer to it."""
        first = object_of(value[0] if isinstance(value, list) and value else value)
        answer = next((name for name in _ANSWERS if isinstance(first.get(name), str)), None)
        if isinstance(first.get("instruction"), str) and answer is not None:
            return Mark("usual", f"`instruction` stands beside `{answer}`")
        return None

    def conversations(self, value: object) -> Iterator[Conversation]:
        """Find each object with an instruction."""
        for number, entry in enumerate(value if isinstance(value, list) else [value]):
            instruction = text_of(entry, "instruction")
            if instruction is None:
                continue
            asked = "\n".join(text for text in (instruction, text_of(entry, "input")) if text)
            answer = next((text for name in _ANSWERS if (text := text_of(entry, name))), None)
            said = [("user", asked), *([("assistant", answer)] if answer is not None else [])]
            yield Conversation(
                path=(*([number] if isinstance(value, list) else []), "history"),
                id=text_of(entry, "id"),
                system=text_of(entry, "system") or None,
                after=tuple({"role": role, "content": text} for role, text in said),
            )

    def project_all(self, chat: ChatView, elements: Sequence[Record], data: bytes, conversation: Conversation) -> None:
        """Add both sides of each pair."""
        for record in elements:
            pair = decode(data[record.start : record.stop])
            for side, role in enumerate(("user", "assistant")):
                if text := text_of(pair, side):
                    chat.text(role, text, record.index)

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return what a pair is called that says nothing."""
        return "pair without a text"

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a pair of which one side is silent."""
        return ["", text] if role == "assistant" else [text, ""]


ALPACA: Final = Alpaca()
"""Fine-tuning data in Alpaca's form."""
