"""Trajectories in the Agent Trajectory Interchange Format (ATIF), as Harbor and its agents write them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, edit_items
from turnfold.containers.listed import Conversation, Listed, edit_value
from turnfold.containers.protocol import Change, Mark, Place
from turnfold.containers.view import ChatView
from turnfold.errors import NotWritableError

_COMPACTED: Final = {"context_management": {"type": "compaction", "boundary": "replace"}}


class Atif(Listed):
    """One document `{"schema_version": "ATIF-v1.x", "session_id", "agent", "steps": [{"step_id", "source", ...}]}`, and
    the trajectories in its `subagent_trajectories`. The event stream beside it (JSON lines with `atof_version`) is
    known, and holds no transcript: its scopes say when a model was called, not what it saw.

    The view is `openai.chat`. A step of the agent is its message with calls and reasoning; the results in its
    `observation` follow, each for the call of its `source_call_id`, else for the oldest open one. What was observed
    without a call is a user message. Steps copied from an earlier file (`is_copied_context`) are part of the view: the
    model saw them again. Where a source is none of `system`, `user`, `agent`, calls or a model tell the agent's.

    The summary takes the place of the steps, as one of its role marked with `context_management` of type `compaction`.
    Where `step_id`s count from 1 without a gap, as ATIF demands, the steps behind it are numbered again; nothing in a
    trajectory refers to these numbers.
    """

    name: ClassVar[str] = "atif"
    title: ClassVar[str] = "ATIF trajectories: `schema_version` of ATIF and `steps` with `source` and `message`."

    def mark(self, value: object) -> Mark | None:
        """See the version of the schema."""
        observed = text_of(value, "atof_version")
        if observed is not None:
            return Mark("proof", f"atof_version is {observed}")
        version = text_of(value, "schema_version") or ""
        if version.startswith("ATIF-"):
            return Mark("proof", f"schema_version is {version}")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `steps`, and those of each trajectory inside."""
        trajectories: list[tuple[tuple[str | int, ...], object]] = [((), value)]
        for number, inner in enumerate(list_of(value, "subagent_trajectories")):
            trajectories.append((("subagent_trajectories", number), inner))
        for path, trajectory in trajectories:
            if isinstance(object_of(trajectory).get("steps"), list):
                agent = object_of(trajectory, "agent")
                head = {"model": text_of(agent, "model_name"), "tools": list_of(agent, "tool_definitions") or None}
                name = text_of(trajectory, "trajectory_id") or text_of(trajectory, "session_id")
                yield Conversation((*path, "steps"), name, head)

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return whose step it is that holds no message."""
        return f"step of {text_of(element, 'source')}" if element is not None else "element without a message"

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add a step's message, calls and results."""
        source, index = text_of(element, "source"), record.index
        content = _content(element.get("message"))
        calls = [
            (text_of(call, "tool_call_id"), text_of(call, "function_name") or "", object_of(call).get("arguments", {}))
            for call in list_of(element, "tool_calls")
        ]
        of_agent = source == "agent" or (source not in {"system", "user"} and (calls or "model_name" in element))
        said = {"reasoning_content": text_of(element, "reasoning_content") or None}
        if calls:
            chat.calls(content or None, calls, index, **said)
        elif of_agent and (content or said["reasoning_content"] or not list_of(element, "observation", "results")):
            chat.text("assistant", content, index, **said)
        elif content and not of_agent:
            chat.text("system" if source == "system" else "user", content, index)
        for number, result in enumerate(list_of(element, "observation", "results")):
            told = object_of(result).get("content")
            call = text_of(result, "source_call_id")
            if call is not None or calls:
                path = ("observation", "results", number, "content")
                place: Place | None = (index, path) if isinstance(told, str) else None
                chat.result(call, _content(told), index, place)
            elif told:
                chat.text("user", _content(told), index)

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Put a marked step in the place of what it replaces.

        Of a step whose message goes and whose observation stays, as what the model reads next, the message is emptied.
        """
        origins, held = change.logged.origins, change.gone
        stays = {index for k, indexes in enumerate(origins) if k not in held for index in indexes}
        emptied = {index for k in held for index in origins[k]} & stays
        for index in sorted(emptied):
            messages = [k for k, indexes in enumerate(origins) if index in indexes]
            step = elements[index]
            if messages[0] not in held or held.issuperset(messages[:2]) or list_of(step.value, "tool_calls"):
                raise NotWritableError(f"Step {index} holds what goes and what stays: choose another cut")
            for key in ("message", "reasoning_content"):
                if key in object_of(step.value):
                    yield edit_value(document, step, (index, (key,)), b'""')
        gone = {index for k in held for index in origins[k]} - emptied
        holes = {origins[hole.start][0]: hole for hole in change.holes}
        new: list[tuple[int, bytes]] = []
        counted = all(object_of(element.value).get("step_id") == element.index + 1 for element in elements)
        number = 0
        for element in elements:
            if element.index in holes:
                number += 1
                spelled = object_of(self.spell(elements, holes[element.index].role, holes[element.index].text))
                new.append((element.index, encode({**spelled, "step_id": number} if counted else spelled)))
            if element.index in gone:
                continue
            number += 1
            if counted and number != element.index + 1:
                yield edit_value(document, element, (element.index, ("step_id",)), encode(number))
        yield from edit_items([(element.start, element.stop) for element in elements], gone, new)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a step with the next free number."""
        numbers = [number for element in elements if isinstance(number := object_of(element.value).get("step_id"), int)]
        source = "user" if role == "user" else "agent"
        return {"step_id": max(numbers, default=0) + 1, "source": source, "message": text, "extra": _COMPACTED}


def _content(content: object) -> object:
    """Return a message or a result as `openai.chat` has it."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else encode(content).decode()
    parts: list[object] = []
    for part in content:
        path = text_of(part, "source", "path")
        if text_of(part, "type") == "image" and path is not None:
            parts.append({"type": "image_url", "image_url": {"url": path}})
        else:
            parts.append(part)
    return parts


ATIF: Final = Atif()
