"""Search trees of ToolBench from which no training messages were made."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Document, encode, list_of, object_of, text_of
from turnfold.containers.protocol import LoggedTranscript, Mark, Reading
from turnfold.containers.recording import Recording
from turnfold.containers.view import ViewMessage, view
from turnfold.errors import InvalidLogError, ReadError

_Node = tuple[int, Mapping[str, object]]


class ToolBenchTree(Recording):
    """`tree.tree`: nodes of type `Thought`, `Action` and `Action Input` with `children`, and no `train_messages`.

    Each way from the root to a leaf is a transcript in `openai.chat`, named by the numbers of the children on it:
    the query, then a message for a thought and the call that follows, spelled as the legacy `function_call` as in the
    training messages, and one for the call's `observation`. Origins are the numbers of nodes, each before its
    children. Branches share their nodes, so a summary of one would change the others: results cannot be written.
    """

    name: ClassVar[str] = "toolbench_tree"
    title: ClassVar[str] = "ToolBench search trees without training messages: a transcript a branch."
    reason: ClassVar[str] = "branches of the search share their nodes, so a summary of one would change the others"

    def recognise(self, document: Document) -> Mark | None:
        """See the tree, and nothing made of it."""
        if _is_tree(document.value):
            return Mark("proof", "`tree.tree` has nodes with `node_type`, and there are no `train_messages`")
        return None

    def read(self, document: Document) -> Reading:
        """Read every branch."""
        value = document.value
        if not _is_tree(value):
            raise InvalidLogError("This is no log of kind toolbench_tree: no search tree stands at `tree.tree`", 0, "")
        generation = object_of(value, "answer_generation")
        head = {"functions": list_of(generation, "function") or None}
        query = text_of(generation, "query")
        first = [] if query is None else [ViewMessage(encode({"role": "user", "content": query}))]
        found: list[LoggedTranscript] = []
        used: set[int] = set()
        for name, nodes in _branches(object_of(value, "tree", "tree")):
            messages = [*first, *_messages(nodes)]
            used.update(index for message in messages for index in message.origins)
            try:
                found.append(view(name, "openai.chat", messages, head))
            except ReadError as error:
                raise InvalidLogError(f"Branch {name} cannot be read: {error.text}", 0, error.path) from error
        unread = sum(1 for _ in _walk(object_of(value, "tree", "tree"))) - len(used)
        return Reading(tuple(found), {"node without a message": unread} if unread else {})


def _is_tree(value: object) -> bool:
    root = object_of(value, "tree", "tree")
    made = list_of(value, "answer_generation", "train_messages")
    return not made and "node_type" in root and bool(list_of(root, "children"))


def _walk(root: Mapping[str, object]) -> Iterator[tuple[tuple[int, ...], tuple[_Node, ...]]]:
    """Yield each node as the way to it: the numbers of children, and the nodes."""
    waiting: list[tuple[tuple[int, ...], tuple[_Node, ...], Mapping[str, object]]] = [((), (), root)]
    index = 0
    while waiting:
        steps, above, node = waiting.pop()
        way = (*above, (index, node))
        index += 1
        yield steps, way
        children = [child for child in list_of(node, "children") if isinstance(child, Mapping)]
        waiting += (((*steps, k), way, child) for k, child in reversed(list(enumerate(children))))


def _branches(root: Mapping[str, object]) -> Iterator[tuple[str, tuple[_Node, ...]]]:
    for steps, way in _walk(root):
        if not any(isinstance(child, Mapping) for child in list_of(way[-1][1], "children")):
            yield "branch " + ".".join(map(str, steps)), way


def _messages(nodes: Sequence[_Node]) -> Iterator[ViewMessage]:
    """Yield the messages of one branch: what an agent thought and called is one of them."""
    thought: str | None = None
    call: dict[str, object] | None = None
    own: list[int] = []

    def said() -> Iterator[ViewMessage]:
        if own:
            called = {} if call is None else {"function_call": call}
            yield ViewMessage(encode({"role": "assistant", "content": thought, **called}), tuple(own))

    for index, node in nodes:
        kind, text = text_of(node, "node_type"), text_of(node, "description") or ""
        if not text and text_of(node, "observation") is None:
            continue
        if kind == "Action":
            if call is not None:
                yield from said()
                thought, own = None, []
            call = {"name": text, "arguments": ""}
            own.append(index)
        elif kind == "Action Input":
            call = {"name": "", "arguments": text} if call is None else {**call, "arguments": text}
            own.append(index)
            yield from said()
            observation = text_of(node, "observation")
            if observation is not None:
                result = {"role": "function", "name": call["name"], "content": observation}
                yield ViewMessage(encode(result), (index,))
            thought, call, own = None, None, []
        else:
            yield from said()
            thought, call, own = text, None, [index]
    yield from said()


TOOLBENCH_TREE: Final = ToolBenchTree()
"""Search trees of ToolBench."""
