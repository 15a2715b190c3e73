"""Bodies of about a megabyte, of the kinds that are hard on an event loop: many objects, one large one, wide texts.

Each holds the word `return`, which a bench replaces so that nothing of a body is known from the one before.
"""

import base64
import json
import random

from bodies import body as agent_session
from bodies import session

from turnfold.objects import Message

__all__ = ["KINDS", "agent_session"]


def _chat(messages: list[Message]) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": messages}, ensure_ascii=False).encode()


def small_calls() -> bytes:
    """4,000 short calls and their results: many objects for their bytes."""
    messages: list[Message] = []
    for number in range(4_000):
        if not number % 10:
            messages.append({"role": "user", "content": f"Look at part {number}."})
        function = {"name": "bash", "arguments": f'{{"command": "ls -la src/{number}"}}'}
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"return {number}: src/x{number}.py"})
    return _chat(messages)


def paths() -> bytes:
    """Nothing but 36,000 paths."""
    picked = random.Random(0)
    messages: list[Message] = [{"role": "user", "content": "Which files return?"}]
    for number in range(900):
        named = (f"/srv/{picked.randrange(16**6):x}/{picked.randrange(16**8):x}.py" for _ in range(40))
        messages.append({"role": "assistant" if number % 2 else "user", "content": f"return {' '.join(named)}"})
    return _chat(messages)


def cyrillic() -> bytes:
    """Russian with emoji: texts of four bytes a character for the interpreter."""
    messages: list[Message] = []
    for number in range(2_000):
        text = f"Сборка {number} снова не прошла, и никто не знает почему 😀. " * 5
        messages.append({"role": "assistant" if number % 2 else "user", "content": f"return {text}"})
    return _chat(messages)


def one_page() -> bytes:
    """One message of the user that is a megabyte of HTML, and talk about it."""
    rows = "".join(f'<tr class="row"><td id="c{n}">Товар {n}</td><td>return {n * 7}</td></tr>\n' for n in range(14_000))
    messages: list[Message] = [{"role": "user", "content": f"Which of these are sold out?\n<table>\n{rows}</table>"}]
    said = ("assistant", "user") * 20
    messages += [{"role": role, "content": f"Row {number} is."} for number, role in enumerate(said)]
    return _chat(messages)


def json_results() -> bytes:
    """Anthropic's format: calls whose results are tables as JSON, of 80 KB each."""
    messages: list[Message] = [{"role": "user", "content": "Which orders return?"}]
    for number in range(12):
        rows = [{"order": number * 1000 + n, "state": "return", "path": f"/in/{n}.json", "n": n} for n in range(1_100)]
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "query", "input": {"sql": f"select {number}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": json.dumps(rows)}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [result]})
    for number in range(40):
        said = [{"type": "text", "text": f"Table {number} is read."}]
        messages.append({"role": "assistant" if number % 2 == 0 else "user", "content": said})
    return json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": messages}).encode()


def images() -> bytes:
    """Forty screenshots of 18 KB, in base64."""
    picked = random.Random(0)
    messages: list[Message] = []
    for number in range(40):
        url = f"data:image/png;base64,{base64.b64encode(picked.randbytes(18_000)).decode()}"
        image = {"type": "image_url", "image_url": {"url": url}}
        asked = {"type": "text", "text": f"What does screen {number} return?"}
        messages.append({"role": "user", "content": [asked, image]})
        messages.append({"role": "assistant", "content": f"Screen {number} shows a form; its modules were read. " * 5})
    return _chat(messages)


def gemini() -> bytes:
    """Gemini's format: a session of calls and results."""
    contents: list[Message] = [{"role": "user", "parts": [{"text": "Which modules return?"}]}]
    for number, message in enumerate(session(2_000, 1_800_000)):
        if message["role"] != "tool":
            continue
        call = {"name": "read_file", "args": {"path": f"src/part_{number}.py"}}
        answer = {"name": "read_file", "response": {"output": message["content"]}}
        contents.append({"role": "model", "parts": [{"functionCall": call}]})
        contents.append({"role": "user", "parts": [{"functionResponse": answer}]})
    contents.append({"role": "model", "parts": [{"text": "All of them."}]})
    return json.dumps({"contents": contents}).encode()


KINDS = (agent_session, small_calls, paths, cyrillic, one_page, json_results, images, gemini)
