"""Request bodies for the benches: real text (the standard library's own sources) in the shape of an agent's session."""

import json
from functools import cache
from pathlib import Path

MODULES = (
    "argparse",
    "ast",
    "difflib",
    "email/message",
    "heapq",
    "inspect",
    "json/decoder",
    "logging/config",
    "tarfile",
)


@cache
def _lines() -> list[str]:
    root = Path(json.__file__).parent.parent
    return [line for name in MODULES for line in (root / f"{name}.py").read_text(encoding="utf-8").split("\n")]


def session(messages: int = 1_001, bytes_at_least: int = 1_000_000) -> list[dict[str, object]]:
    """An OpenAI Chat session: system, then rounds of a question, two parallel calls, their results and an answer.

    1,001 messages of about 1 MB by default. Deterministic.
    """
    lines, at = _lines(), 0
    per_round = max(400, bytes_at_least * 5 // messages)

    def take(size: int) -> str:
        nonlocal at
        picked: list[str] = []
        while size > 0:
            line = lines[at % len(lines)]
            at += 1
            picked.append(line)
            size -= len(line) + 1
        return "\n".join(picked)

    found: list[dict[str, object]] = [{"role": "system", "content": "You are a careful build assistant."}]
    step = 0
    while len(found) < messages:
        step += 1
        ids = [f"call_{step}_{side}" for side in "ab"]
        found.append({"role": "user", "content": f"Step {step}: what does this part do?"})
        calls = [
            {
                "id": name,
                "type": "function",
                "function": {"name": "read_file", "arguments": json.dumps({"path": f"src/part_{step}.py", "line": at})},
            }
            for name in ids
        ]
        found.append({"role": "assistant", "content": None, "tool_calls": calls})
        found.extend({"role": "tool", "tool_call_id": name, "content": take(per_round * 2 // 5)} for name in ids)
        found.append({"role": "assistant", "content": take(per_round // 12)})
    return found[:messages]


@cache
def body(messages: int = 1_001, bytes_at_least: int = 1_000_000) -> bytes:
    """The session as a request body."""
    return json.dumps({"model": "gpt-4o", "messages": session(messages, bytes_at_least)}).encode()
