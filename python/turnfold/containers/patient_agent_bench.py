"""Cases of PatientAgentBench: a conversation between a patient and an agent, with its scores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark
from turnfold.containers.view import ChatView

_SPEAKERS: Final = {"human": "user", "ai": "assistant"}


class PatientAgentBench(Listed):
    """`{"case_id", "transcript": [{"index", "role": "human" | "ai", "content"}], "tool_calls": [...]}`.

    The view is `openai.chat`. The calls stand apart from the conversation and have no results anywhere: they are
    carried along, and are no messages.
    """

    name: ClassVar[str] = "patient_agent_bench"
    title: ClassVar[str] = "PatientAgentBench cases: a `transcript` of `human` and `ai` with scores beside it."

    def mark(self, value: object) -> Mark | None:
        """See the transcript beside the case's scores."""
        holder = object_of(value)
        if isinstance(holder.get("transcript"), list) and "case_id" in holder and "rubric_scores" in holder:
            return Mark("proof", "a `transcript` stands beside `case_id` and `rubric_scores`")
        return None

    def conversations(self, value: object) -> Iterator[Conversation]:
        """Find the transcript."""
        if isinstance(object_of(value).get("transcript"), list):
            yield Conversation(("transcript",), text_of(value, "case_id"))

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add one turn."""
        speaker, text = _SPEAKERS.get(text_of(element, "role") or ""), text_of(element, "content")
        if speaker is not None and text is not None:
            chat.text(speaker, text, record.index)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a turn of the patient or the agent."""
        return {"role": "human" if role == "user" else "ai", "content": text}


PATIENT_AGENT_BENCH: Final = PatientAgentBench()
"""Cases of PatientAgentBench."""
