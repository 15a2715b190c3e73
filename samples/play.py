"""Plays agent sessions: real tools over a copy of a small project, written down as an agent's client would send them.

Every tool result is what the tool gave: files are read and changed, tests are run. Only times and folder names, which
differ from run to run, are levelled.
"""

import difflib
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

WORKSHOP = Path(__file__).parent / "workshop"


@dataclass(frozen=True)
class Call:
    """A tool call of the agent, to be made by the workshop."""

    tool: str
    arguments: dict


def read(path: str, first: int | None = None, last: int | None = None) -> Call:
    arguments: dict = {"path": path}
    if first is not None:
        arguments |= {"first_line": first, "last_line": last}
    return Call("read_file", arguments)


def shell(command: str) -> Call:
    return Call("run_command", {"command": command})


def search(pattern: str, path: str = ".") -> Call:
    return Call("search", {"pattern": pattern, "path": path})


def edit(path: str, old: str, new: str) -> Call:
    return Call("edit_file", {"path": path, "old_text": old, "new_text": new})


def write(path: str, content: str) -> Call:
    return Call("write_file", {"path": path, "content": content})


def listing(path: str = ".") -> Call:
    return Call("list_files", {"path": path})


class Workshop:
    """A throw-away copy of a project, and the tools that work on it."""

    def __init__(self, project: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="workshop-"))
        self.root = self._folder / project
        shutil.copytree(WORKSHOP / project, self.root, ignore=shutil.ignore_patterns("__pycache__"))
        self.project = project
        self._tools: dict[str, Callable[..., str]] = {
            "read_file": self._read,
            "run_command": self._run,
            "search": self._search,
            "edit_file": self._edit,
            "write_file": self._write,
            "list_files": self._list,
        }

    def close(self) -> None:
        shutil.rmtree(self._folder)

    def use(self, call: Call) -> str:
        """Make the call and return what the tool says."""
        return self._tools[call.tool](**call.arguments)

    def files(self) -> list[str]:
        found = (p for p in self.root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        return sorted(str(p.relative_to(self.root)) for p in found)

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def _read(self, path: str, first_line: int | None = None, last_line: int | None = None) -> str:
        if not (self.root / path).is_file():
            return f"error: no such file: {path}"
        lines = self.text(path).splitlines()
        first = first_line or 1
        chosen = lines[first - 1 : last_line]
        return "\n".join(f"{number:5}\t{line}" for number, line in enumerate(chosen, first))

    def _search(self, pattern: str, path: str = ".") -> str:
        compiled = re.compile(pattern)
        hits = []
        for name in self.files():
            if path not in (".", name) and not name.startswith(path.rstrip("/") + "/"):
                continue
            for number, line in enumerate(self.text(name).splitlines(), 1):
                if compiled.search(line):
                    hits.append(f"{name}:{number}:{line}")
        return "\n".join(hits) if hits else f"no match for {pattern!r} in {path}"

    def _edit(self, path: str, old_text: str, new_text: str) -> str:
        before = self.text(path)
        times = before.count(old_text)
        if times != 1:
            return f"error: old_text stands {times} times in {path}, it must stand there once; nothing was changed"
        after = before.replace(old_text, new_text)
        (self.root / path).write_text(after, encoding="utf-8")
        return self._diff(path, before, after)

    def _write(self, path: str, content: str) -> str:
        target = self.root / path
        before = self.text(path) if target.is_file() else None
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
        if before is None:
            return f"created {path}, {len(content.splitlines())} lines"
        return self._diff(path, before, content)

    def _list(self, path: str = ".") -> str:
        names = [n for n in self.files() if path == "." or n.startswith(path.rstrip("/") + "/")]
        return "\n".join(f"{len(self.text(n).encode()):>7}  {n}" for n in names)

    def _diff(self, path: str, before: str, after: str) -> str:
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", n=2, lineterm=""
        )
        return "\n".join(lines)

    def _run(self, command: str) -> str:
        if command.startswith("git diff"):
            return self._changes(command.removeprefix("git diff").removeprefix(" -- "))
        done = subprocess.run(
            command.replace("python", sys.executable, 1),
            shell=True,
            cwd=self.root,
            capture_output=True,
            text=True,
            env={
                "PATH": "/usr/bin:/bin",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONIOENCODING": "utf-8",
                "LC_ALL": "C.UTF-8",
            },
        )
        output = (done.stdout + done.stderr).replace(str(self.root), f"/home/user/{self.project}")
        output = re.sub(r"Ran (\d+) tests? in [\d.]+s", r"Ran \1 tests in 0.011s", output)
        return f"exit status {done.returncode}\n{output.rstrip()}"

    def _changes(self, only: str) -> str:
        parts = []
        for name in [only] if only else self.files():
            original = WORKSHOP / self.project / name
            before = original.read_text(encoding="utf-8") if original.is_file() else ""
            if before != self.text(name):
                parts.append(self._diff(name, before, self.text(name)))
        return "\n".join(parts)


TOOLS = {
    "read_file": (
        "Read a text file, with line numbers.",
        {"path": "string", "first_line": "integer", "last_line": "integer"},
        ["path"],
    ),
    "run_command": ("Run a shell command in the project's folder.", {"command": "string"}, ["command"]),
    "search": ("Search files for a regular expression.", {"pattern": "string", "path": "string"}, ["pattern"]),
    "edit_file": (
        "Replace text that stands once in a file.",
        {"path": "string", "old_text": "string", "new_text": "string"},
        ["path", "old_text", "new_text"],
    ),
    "write_file": ("Write a whole file.", {"path": "string", "content": "string"}, ["path", "content"]),
    "list_files": ("List files with their sizes.", {"path": "string"}, []),
}


@dataclass
class Session:
    """One session, in neutral form: the emitters below turn it into a wire format."""

    workshop: Workshop
    system: str
    events: list = field(default_factory=list)

    def user(self, text: str, image: str | None = None) -> None:
        """The user says something."""
        self.events.append(("user", text, image))

    def agent(self, text: str, *calls: Call, thinking: str | None = None) -> list[str]:
        """The agent says something and makes calls, side by side; returns their results."""
        results = [self.workshop.use(call) for call in calls]
        self.events.append(("agent", text, list(zip(calls, results, strict=True)), thinking))
        return results

    def record(self, text: str, tool: str, arguments: dict, result: str, thinking: str | None = None) -> None:
        """A call of a tool outside the workshop, with what it gave."""
        self.events.append(("agent", text, [(Call(tool, arguments), result)], thinking))


@contextmanager
def session(project: str, system: str) -> Iterator[Session]:
    workshop = Workshop(project)
    try:
        yield Session(workshop, system)
    finally:
        workshop.close()


def _ids(prefix: str, restart: bool) -> Callable[[int], list[str]]:
    """Call ids: unique ones like a provider's, or a counter that starts again with every answer."""
    counter = itertools.count()

    def make(amount: int) -> list[str]:
        if restart:
            return [f"{prefix}{k}" for k in range(amount)]
        return [f"{prefix}{(next(counter) * 2654435761 + 97) % 2**32:08x}{amount:02x}" for _ in range(amount)]

    return make


def openai_messages(played: Session, *, prefix: str = "call_", restart: bool = False) -> list[dict]:
    """The session as OpenAI Chat Completions messages."""
    make = _ids(prefix, restart)
    messages: list[dict] = [{"role": "system", "content": played.system}]
    for event in played.events:
        if event[0] == "user":
            messages.append({"role": "user", "content": _openai_content(event[1], event[2])})
            continue
        _, text, calls, _ = event
        message: dict = {"role": "assistant", "content": text or None}
        ids = make(len(calls))
        if calls:
            message["tool_calls"] = [
                {
                    "id": i,
                    "type": "function",
                    "function": {"name": c.tool, "arguments": json.dumps(c.arguments, ensure_ascii=False)},
                }
                for i, (c, _) in zip(ids, calls, strict=True)
            ]
        messages.append(message)
        messages.extend({"role": "tool", "tool_call_id": i, "content": r} for i, (_, r) in zip(ids, calls, strict=True))
    return messages


def _openai_content(text: str, image: str | None) -> object:
    if image is None:
        return text
    return [
        {"type": "text", "text": text},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}", "detail": "low"}},
    ]


def openai_body(played: Session, model: str, extra_tools: dict | None = None, **options: object) -> dict:
    """The session as an OpenAI request body."""
    tools = [
        {"type": "function", "function": {"name": name, "description": about, "parameters": _schema(fields, needed)}}
        for name, (about, fields, needed) in {**TOOLS, **(extra_tools or {})}.items()
    ]
    return {"model": model, "messages": openai_messages(played, **options), "tools": tools, "temperature": 0}


def anthropic_messages(played: Session, *, prefix: str = "toolu_01", errors: bool = True) -> list[dict]:
    """The session as Anthropic messages."""
    make = _ids(prefix, restart=False)
    messages: list[dict] = []
    for event in played.events:
        if event[0] == "user":
            _, text, image = event
            blocks: list[dict] = []
            if image is not None:
                blocks.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}})
            blocks.append({"type": "text", "text": text})
            if messages and messages[-1]["role"] == "user":
                messages[-1]["content"].extend(blocks)
            else:
                messages.append({"role": "user", "content": blocks})
            continue
        _, text, calls, thinking = event
        content: list[dict] = []
        if thinking:
            content.append({"type": "thinking", "thinking": thinking, "signature": _signature(thinking)})
        if text:
            content.append({"type": "text", "text": text})
        ids = make(len(calls))
        content.extend(
            {"type": "tool_use", "id": i, "name": c.tool, "input": c.arguments}
            for i, (c, _) in zip(ids, calls, strict=True)
        )
        messages.append({"role": "assistant", "content": content})
        if calls:
            messages.append(
                {
                    "role": "user",
                    "content": [_anthropic_result(i, r, errors) for i, (_, r) in zip(ids, calls, strict=True)],
                }
            )
    return messages


def _anthropic_result(call_id: str, result: str, errors: bool) -> dict:
    block: dict = {"type": "tool_result", "tool_use_id": call_id, "content": result}
    if errors and result.startswith("error:"):
        block["is_error"] = True
    return block


def _signature(thinking: str) -> str:
    """Stands for the provider's seal: as opaque, and the same in every run."""
    seed = sum(thinking.encode()) * 40503
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return "Er" + "".join(alphabet[(seed >> (k % 13)) * (k + 7) % 64] for k in range(94)) + "=="


def anthropic_body(played: Session, model: str, extra_tools: dict | None = None, **fields: object) -> dict:
    """The session as an Anthropic request body."""
    tools = [
        {"name": name, "description": about, "input_schema": _schema(fields_, needed)}
        for name, (about, fields_, needed) in {**TOOLS, **(extra_tools or {})}.items()
    ]
    return {
        "model": model,
        "max_tokens": 4096,
        "system": [{"type": "text", "text": played.system, "cache_control": {"type": "ephemeral"}}],
        "tools": tools,
        "messages": anthropic_messages(played),
        **fields,
    }


def _schema(fields: dict, needed: list) -> dict:
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}, "required": needed}
