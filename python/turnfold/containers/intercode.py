"""Results of InterCode: tasks with the actions that were tried and what was observed."""

from collections.abc import Mapping
from typing import ClassVar, Final

from turnfold.containers.document import Document, list_of, object_of, text_of
from turnfold.containers.protocol import LoggedTranscript, Mark, Reading
from turnfold.containers.recording import Recording
from turnfold.containers.view import ChatView, view
from turnfold.errors import InvalidLogError


class InterCode(Recording):
    """`{"<task>": {"query", "turn_history": {"actions": [], "observations": [], "thoughts"?: []}}}`.

    The view is `openai.chat`: the query, then an assistant's call of the tool `execute` and its result a turn, ids made
    from place. Actions and observations are parallel lists that have no room for a summary: results cannot be written.
    """

    name: ClassVar[str] = "intercode"
    title: ClassVar[str] = "InterCode results: `turn_history` with parallel lists of actions and observations."
    reason: ClassVar[str] = (
        "its turns are numbers in parallel lists of actions, observations and rewards, and a summary is none of these"
    )

    def recognise(self, document: Document) -> Mark | None:
        """See a task with a history of turns."""
        for name, task in object_of(document.value).items():
            if object_of(task, "turn_history") and text_of(task, "query") is not None:
                return Mark("proof", f"{name} has a `query` and a `turn_history`")
            break
        return None

    def read(self, document: Document) -> Reading:
        """Read each task as a transcript, named by its key."""
        tasks = object_of(document.value)
        found = [
            _task(name, index, task)
            for index, (name, task) in enumerate(tasks.items())
            if object_of(task, "turn_history")
        ]
        if not found:
            raise InvalidLogError("This is no log of kind intercode: no task has a `turn_history`", 0, "")
        rest = len(tasks) - len(found)
        return Reading(tuple(found), {"entry without a turn_history": rest} if rest else {})


def _task(name: str, index: int, task: object) -> LoggedTranscript:
    chat = ChatView()
    chat.text("user", text_of(task, "query") or "", index)
    history = object_of(task, "turn_history")
    thoughts, observations = list_of(history, "thoughts"), list_of(history, "observations")
    for turn, action in enumerate(list_of(history, "actions")):
        thought = thoughts[turn] if turn < len(thoughts) and isinstance(thoughts[turn], str) else None
        (call_id,) = chat.calls(thought, [(f"call_{index}_{turn}", "execute", _spelled(action))], index)
        if turn < len(observations):
            chat.result(call_id, _text(observations[turn]), index)
    return view(name, "openai.chat", chat.messages)


def _spelled(action: object) -> Mapping[str, object]:
    return {"action": action}


def _text(observation: object) -> str:
    return observation if isinstance(observation, str) else str(observation)


INTERCODE: Final = InterCode()
"""Results of InterCode."""
