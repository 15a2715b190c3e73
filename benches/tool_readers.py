"""What each agent's own loader makes of its log. Run by that tool's Python, so nothing of turnfold is imported here.

    python benches/tool_readers.py KIND FILE...

Prints one JSON line a file: `{"tool": "name version", "held": [[text, ...], ...]}`, the strings in each message that
the tool holds after loading, or `{"tool": ..., "refused": "why"}`. Exits 2 where the tool is not installed.
"""

import importlib
import json
import os
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

Held = list[list[str]]


def strings(value: object) -> Iterator[str]:
    """Every string inside a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def objects(data: bytes) -> Iterator[dict[str, Any]]:
    """Every line that is a JSON object."""
    for line in data.split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def load(name: str) -> Any:
    """A module of the tool."""
    return importlib.import_module(name)


def inspect(path: Path) -> Held:
    """`read_eval_log`, the documented way into a log, and of its messages those that Inspect sends behind a summary."""
    log = load("inspect_ai.log").read_eval_log(str(path), resolve_attachments=True)
    parted = load("inspect_ai.model._trim").partition_messages
    held: Held = []
    for sample in log.samples:
        sent, summaries = (
            sample.messages,
            [k for k, m in enumerate(sample.messages) if (m.metadata or {}).get("summary")],
        )
        if summaries:
            before = parted(sent[: summaries[-1]])
            sent = [*before.system, *before.input, *sent[summaries[-1] :]]
        held += (list(strings(m.model_dump(mode="json"))) for m in sent)
    return held


def google_adk(path: Path) -> Held:
    """The session, and the contents that ADK would send: it looks past what a compaction event covers."""
    contents = load("google.adk.flows.llm_flows.contents")
    session = load("google.adk.sessions").Session.model_validate_json(path.read_bytes())
    authors = Counter(event.author for event in session.events if event.author != "user")
    agent = max(authors, key=authors.__getitem__, default="agent")
    sent = contents._get_contents(None, session.events, agent)  # noqa: SLF001  # there is no public way to ask
    return [list(strings(content.model_dump(mode="json", exclude_none=True))) for content in sent]


def openhands_v1(path: Path) -> Held:
    """The events, as the view of them that is sent: condensations applied."""
    importlib.import_module("openhands.tools.preset.default")
    for tool in ("terminal", "file_editor", "task_tracker"):
        importlib.import_module(f"openhands.tools.{tool}")
    event = load("openhands.sdk.event").Event
    events = [event.model_validate_json(line) for line in path.read_bytes().split(b"\n") if line.strip()]
    view = load("openhands.sdk.context.view").View.from_events(events)
    return [list(strings(e.to_llm_message().model_dump(mode="json"))) for e in view.events]


def openhands_v0(path: Path) -> Held:
    """The events, as the view of them that is sent: condensation actions applied."""
    from_dict = load("openhands.events.serialization.event").event_from_dict
    events = [from_dict(event) for event in json.loads(path.read_bytes())]
    view = load("openhands.memory.view").View.from_events(events)
    to_dict = load("openhands.events.serialization.event").event_to_dict
    return [list(strings(to_dict(event))) for event in view.events]


def claude_code(path: Path) -> Held:
    """The messages of a session in a folder of projects, found along its chain; a sub-agent's as such."""
    session, data = str(uuid.uuid4()), path.read_bytes()
    spoken = [one for one in objects(data) if one.get("type") in {"user", "assistant"}]
    agent = next((one["agentId"] for one in spoken if one.get("agentId")), None)
    own = agent is not None and all(one.get("isSidechain") for one in spoken)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "projects", "-srv-project")
        log = project / session / "subagents" / f"agent-{agent}.jsonl" if own else project / f"{session}.jsonl"
        log.parent.mkdir(parents=True)
        (project / f"{session}.jsonl").write_bytes(b"{}\n")
        log.write_bytes(data)
        os.environ["CLAUDE_CONFIG_DIR"] = folder
        sdk = load("claude_agent_sdk")
        messages = sdk.get_subagent_messages(session, agent) if own else sdk.get_session_messages(session)
    return [list(strings(message.message)) for message in messages]


def copilot_cli(path: Path) -> Held:
    """The typed events. The SDK has no view of them, so those that hold messages are listed."""
    from_dict = load("copilot.generated.session_events").session_event_from_dict
    events = [from_dict(json.loads(line)).to_dict() for line in path.read_bytes().split(b"\n") if line.strip()]
    kinds = ("user.message", "assistant.message", "system.message", "system.notification", "tool.execution_complete")
    return [list(strings(event)) for event in events if event["type"] in kinds]


def mini_swe_agent(path: Path) -> Held:
    """The pages that the trajectory inspector shows."""
    group = load("minisweagent.run.utilities.inspector")._messages_to_steps  # noqa: SLF001  # as above
    value = json.loads(path.read_bytes())
    return [
        list(strings(message))
        for page in group(value if isinstance(value, list) else value["messages"])
        for message in page
    ]


def atif(path: Path) -> Held:
    """The trajectory, checked as Harbor's own validator does it, but for files that it points to."""
    trajectory = load("harbor.models.trajectories").Trajectory.model_validate_json(path.read_bytes())
    return [list(strings(step.model_dump(mode="json", exclude_none=True))) for step in trajectory.steps]


def langgraph(path: Path) -> Held:
    """The messages of the state, as the objects of LangChain that a graph holds."""
    messages = json.loads(path.read_bytes())["values"]["messages"]
    state = load("langchain_core.messages").convert_to_messages(messages)
    return [list(strings(message.model_dump(mode="json"))) for message in state]


def opentelemetry(path: Path) -> Held:
    """OTLP JSON, one document or one a line, parsed into the messages of the protocol."""
    formats, trace = load("google.protobuf.json_format"), load("opentelemetry.proto.trace.v1.trace_pb2")
    whole = path.read_bytes()
    texts = whole.split(b"\n") if whole.startswith(b'{"resourceSpans"') else [whole]
    parsed = [formats.Parse(text, trace.TracesData()) for text in texts if text.strip()]
    spans = [span for data in parsed for r in data.resource_spans for scope in r.scope_spans for span in scope.spans]
    return [list(strings(formats.MessageToDict(span))) for span in spans]


def opentelemetry_logs(path: Path) -> Held:
    """OTLP JSON, one document or one a line, parsed into the log records of the protocol."""
    formats, logs = load("google.protobuf.json_format"), load("opentelemetry.proto.logs.v1.logs_pb2")
    whole = path.read_bytes()
    texts = whole.split(b"\n") if whole.startswith(b'{"resourceLogs"') else [whole]
    parsed = [formats.Parse(text, logs.LogsData()) for text in texts if text.strip()]
    records = [
        one for data in parsed for r in data.resource_logs for scope in r.scope_logs for one in scope.log_records
    ]
    return [list(strings(formats.MessageToDict(record))) for record in records]


def hermes_session(path: Path) -> Held:
    """The messages, put into Hermes's database as it imports a session, and loaded as it goes on with one."""
    value = json.loads(path.read_bytes())
    name = value["session_id"]
    with tempfile.TemporaryDirectory() as folder:
        database = load("hermes_state").SessionDB(Path(folder, "state.db"))
        told = database.import_sessions([{**value, "id": name, "source": value["platform"]}])
        if told["errors"]:
            raise ValueError(str(told["errors"]))
        return [list(strings(message)) for message in database.get_messages_as_conversation(name)]


def aider(path: Path) -> Held:
    """The history, split into messages as Aider does it when it goes on with one."""
    split = load("aider.utils").split_chat_history_markdown
    return [list(strings(message)) for message in split(path.read_text("utf-8"))]


class Reader(NamedTuple):
    """A loader, the distribution that has it, what else to install, and the Python that this needs."""

    read: Callable[[Path], Held]
    distribution: str
    install: str
    python: str = "3.11"


READERS: Mapping[str, Reader] = {
    "inspect": Reader(inspect, "inspect-ai", "inspect-ai"),
    "inspect_eval": Reader(inspect, "inspect-ai", "inspect-ai"),
    "google_adk": Reader(google_adk, "google-adk", "google-adk"),
    "openhands_v1": Reader(openhands_v1, "openhands-sdk", "openhands-sdk openhands-tools", "3.12"),
    "openhands_v0": Reader(openhands_v0, "openhands-ai", "openhands-ai==0.62.0", "3.12"),
    "claude_code": Reader(claude_code, "claude-agent-sdk", "claude-agent-sdk"),
    "copilot_cli": Reader(copilot_cli, "github-copilot-sdk", "github-copilot-sdk"),
    "mini_swe_agent": Reader(mini_swe_agent, "mini-swe-agent", "mini-swe-agent textual"),
    "atif": Reader(atif, "harbor", "harbor", "3.12"),
    "langgraph": Reader(langgraph, "langchain-core", "langchain-core"),
    "opentelemetry": Reader(opentelemetry, "opentelemetry-proto", "opentelemetry-proto"),
    "opentelemetry_logs": Reader(opentelemetry_logs, "opentelemetry-proto", "opentelemetry-proto"),
    "hermes_session": Reader(hermes_session, "hermes-agent", "hermes-agent"),
    "aider": Reader(aider, "aider-chat", "aider-chat", "3.12"),
}


def installed(kind: str) -> str | None:
    """The tool of a kind and its version; None where this Python has it not."""
    name = READERS[kind].distribution
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return None


def reading(kind: str, path: Path) -> dict[str, object]:
    """What the tool holds of a file, or why it refuses it."""
    tool = installed(kind)
    try:
        return {"tool": tool, "held": READERS[kind].read(path)}
    except Exception as error:  # noqa: BLE001  # whatever a tool raises is its verdict
        return {"tool": tool, "refused": f"{type(error).__name__}: {error}"}


def main() -> int:
    kind, *paths = sys.argv[1:]
    if installed(kind) is None:
        return 2
    out, sys.stdout = sys.stdout, sys.stderr
    for path in paths:
        print(json.dumps(reading(kind, Path(path))), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
