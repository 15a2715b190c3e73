"""All kinds of log: those built in, those that other distributions offer, and those that a program registers."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from turnfold.containers.aider import AIDER
from turnfold.containers.alpaca import ALPACA
from turnfold.containers.antigravity import ANTIGRAVITY
from turnfold.containers.atif import ATIF
from turnfold.containers.bodies import BODIES
from turnfold.containers.claude_code import CLAUDE_CODE
from turnfold.containers.cline import CLINE
from turnfold.containers.codex import CODEX
from turnfold.containers.copilot_chatreplay import COPILOT_CHATREPLAY
from turnfold.containers.copilot_cli import COPILOT_CLI
from turnfold.containers.cursor import CURSOR
from turnfold.containers.document import Document
from turnfold.containers.droid import DROID
from turnfold.containers.gemini_cli import GEMINI_CLI
from turnfold.containers.gemini_wire import GEMINI_WIRE
from turnfold.containers.google_adk import GOOGLE_ADK
from turnfold.containers.grok_build import GROK_BUILD
from turnfold.containers.happy import HAPPY
from turnfold.containers.hermes import HERMES
from turnfold.containers.hermes_session import HERMES_SESSION
from turnfold.containers.http_cassette import HTTP_CASSETTE
from turnfold.containers.http_exchanges import HTTP_EXCHANGES
from turnfold.containers.inspect import INSPECT
from turnfold.containers.inspect_eval import INSPECT_EVAL
from turnfold.containers.intercode import INTERCODE
from turnfold.containers.kimi import KIMI
from turnfold.containers.kiro import KIRO
from turnfold.containers.langfuse import LANGFUSE
from turnfold.containers.langgraph import LANGGRAPH
from turnfold.containers.letta import LETTA
from turnfold.containers.litellm_log import LITELLM_LOG
from turnfold.containers.message_lists import MESSAGE_LISTS
from turnfold.containers.message_records import MESSAGE_RECORDS
from turnfold.containers.mini_swe_agent import MINI_SWE_AGENT
from turnfold.containers.mint import MINT
from turnfold.containers.monocle import MONOCLE
from turnfold.containers.multi_agent_chat import MULTI_AGENT_CHAT
from turnfold.containers.omnigent import OMNIGENT
from turnfold.containers.opencode import OPENCODE
from turnfold.containers.openhands_v0 import OPENHANDS_V0
from turnfold.containers.openhands_v1 import OPENHANDS_V1
from turnfold.containers.opentelemetry import OPENTELEMETRY
from turnfold.containers.opentelemetry_logs import OPENTELEMETRY_LOGS
from turnfold.containers.patient_agent_bench import PATIENT_AGENT_BENCH
from turnfold.containers.pi import PI
from turnfold.containers.posit_assistant import POSIT_ASSISTANT
from turnfold.containers.protocol import Container, Mark, Strength
from turnfold.containers.provider_response import PROVIDER_RESPONSE
from turnfold.containers.qwen_code import QWEN_CODE
from turnfold.containers.qwenpaw import QWENPAW
from turnfold.containers.sharegpt import SHAREGPT
from turnfold.containers.swe_agent import SWE_AGENT
from turnfold.containers.tau2 import TAU2
from turnfold.containers.tau_bench import TAU_BENCH
from turnfold.containers.toolbench import TOOLBENCH
from turnfold.containers.toolbench_tree import TOOLBENCH_TREE
from turnfold.errors import ArgumentError, BrokenPluginError, UnknownContainerError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "turnfold.containers"
"""The entry point group: an entry's name is the container's, its object fulfils `Container`."""

BUILT_IN: Final[tuple[Container, ...]] = (
    AIDER,
    ALPACA,
    ANTIGRAVITY,
    ATIF,
    BODIES,
    CLAUDE_CODE,
    CLINE,
    CODEX,
    COPILOT_CHATREPLAY,
    COPILOT_CLI,
    CURSOR,
    DROID,
    GEMINI_CLI,
    GEMINI_WIRE,
    GOOGLE_ADK,
    GROK_BUILD,
    HAPPY,
    HERMES,
    HERMES_SESSION,
    HTTP_CASSETTE,
    HTTP_EXCHANGES,
    INSPECT,
    INSPECT_EVAL,
    INTERCODE,
    KIMI,
    KIRO,
    LANGFUSE,
    LANGGRAPH,
    LETTA,
    LITELLM_LOG,
    MESSAGE_LISTS,
    MESSAGE_RECORDS,
    MINI_SWE_AGENT,
    MINT,
    MONOCLE,
    MULTI_AGENT_CHAT,
    OMNIGENT,
    OPENCODE,
    OPENHANDS_V0,
    OPENHANDS_V1,
    OPENTELEMETRY,
    OPENTELEMETRY_LOGS,
    PATIENT_AGENT_BENCH,
    PI,
    POSIT_ASSISTANT,
    PROVIDER_RESPONSE,
    QWENPAW,
    QWEN_CODE,
    SHAREGPT,
    SWE_AGENT,
    TAU2,
    TAU_BENCH,
    TOOLBENCH,
    TOOLBENCH_TREE,
)
"""One a file of this room."""

_ORDER: Final[tuple[Strength, ...]] = ("guess", "hint", "usual", "proof")
_SURE: Final[tuple[Strength, ...]] = ("usual", "proof")
_NEVER_SURE: Final[tuple[Container, ...]] = (BODIES, MESSAGE_LISTS)
"""They take what no other kind is sure of, and look longest."""
_MEMBERS: Final = ("name", "title", "writes", "recognise", "read", "write")
_registered: dict[str, Container] = {}


def register(container: Container) -> None:
    """Make `container` known to this process. Raises an `ArgumentError` where its name is taken by another."""
    lacks = [member for member in _MEMBERS if not hasattr(container, member)]
    if lacks:
        raise ArgumentError(f"A container has {', '.join(_MEMBERS)}; this one lacks {', '.join(lacks)}")
    known = {kind.name: kind for kind in (*BUILT_IN, *_registered.values())}
    if known.get(container.name, container) is not container:
        raise ArgumentError(f"There is a container {container.name!r} already: give this one another name")
    _registered[container.name] = container


def available() -> tuple[Container, ...]:
    """Return every container that can be used: built in, registered, and of installed distributions.

    A distribution whose container cannot be loaded is passed over here; naming that container raises the error.
    """
    return (*BUILT_IN, *_registered.values(), *(kind for kind in map(_usable, _plugins()) if kind is not None))


def named(name: str) -> Container:
    """Return the container of that name; letter case, and `-` or `.` for `_`, make no difference.

    Raises an `UnknownContainerError` with all names, or a `BrokenPluginError` where its distribution cannot be loaded.
    """
    plain = _plain(name)
    for kind in (*BUILT_IN, *_registered.values()):
        if kind.name == plain:
            return kind
    for point in _plugins():
        if _plain(point.name) == plain:
            return _load(point)
    names = ", ".join(sorted(kind.name for kind in available()))
    raise UnknownContainerError(f"No container is named {name!r}; there are {names}", 0, "")


def detect(document: Document) -> tuple[Container, str]:
    """Return the one container whose mark is strongest, and what was seen.

    Raises an `UnknownContainerError` where no container sees a mark, or several see one of the same strength.
    """
    best = marks(document)
    if len(best) == 1:
        container, mark = best[0]
        return container, mark.reason
    if best:
        seen = "; ".join(f"{container.name} ({mark.reason})" for container, mark in best)
        raise UnknownContainerError(f"This could be a log of several kinds, name one: {seen}", 0, "")
    broken = [point for point in _plugins() if _usable(point) is None]
    also = "".join(f"; {_origin(point)} offers {point.name!r}, which cannot be loaded" for point in broken)
    raise UnknownContainerError(f"No container knows this as a log of its kind{also}", 0, "")


def marks(document: Document) -> Sequence[tuple[Container, Mark]]:
    """Return the strongest marks that containers see: none, one, or several of one strength."""
    seen = [(container, mark) for container in available() if (mark := container.recognise(document)) is not None]
    strongest = max((_ORDER.index(mark.strength) for _, mark in seen), default=0)
    return [(container, mark) for container, mark in seen if _ORDER.index(mark.strength) == strongest]


def is_log(document: Document) -> bool:
    """Whether a container is sure of it: by a proof, or by what is usual. Ends at the first that is."""
    return any(
        (mark := container.recognise(document)) is not None and mark.strength in _SURE
        for container in available()
        if container not in _NEVER_SURE
    )


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


@cache
def _plugins() -> "tuple[EntryPoint, ...]":
    # Slow to load, and to look through what is installed: only who reads a log waits for it.
    from importlib.metadata import entry_points

    own: Iterable[EntryPoint] = entry_points(group=GROUP)
    return tuple(sorted(own, key=lambda point: point.name))


@cache
def _usable(point: "EntryPoint") -> Container | None:
    try:
        return _load(point)
    except BrokenPluginError:
        return None


@cache
def _load(point: "EntryPoint") -> Container:
    try:
        container = point.load()
    except Exception as error:
        raise BrokenPluginError(
            f"{_origin(point)} offers the container {point.name!r}, and loading {point.value} failed: "
            f"{type(error).__name__}: {error}"
        ) from error
    lacks = [member for member in _MEMBERS if not hasattr(container, member)]
    if lacks or container.name != point.name:
        why = f"it lacks {', '.join(lacks)}" if lacks else f"its name is {container.name!r}"
        raise BrokenPluginError(f"{_origin(point)} offers {point.value} as the container {point.name!r}, but {why}")
    loaded: Container = container
    return loaded


def _origin(point: "EntryPoint") -> str:
    return f"The distribution {point.dist.name}" if point.dist is not None else "A distribution"
