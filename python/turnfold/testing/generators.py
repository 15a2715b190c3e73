"""Invented transcripts from a seed, all of them clean. The same seed gives the same bytes.

Plain functions of an integer, so that any test tool can drive them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Body: TypeAlias = dict[str, Json]
Ending = Literal["user", "results", "assistant"]
"""Who speaks last: a user with a new wish, the tools with results that the model has not read, the model."""

_OPEN: Final[tuple[Ending, ...]] = ("user", "results")
_ANY: Final[tuple[Ending, ...]] = (*_OPEN, "assistant")

_PATHS: Final = ("src/parser.py", "src/lexer.rs", "docs/guide.md", "tests/test_parser.py", "Makefile")
_ASKS: Final = (
    "Please find out why {path} fails on negative numbers.",
    "Rename the function in {path}.\nKeep the old name as an alias: ISSUE-{number}.",
    "Now run the tests again and show me only the failures.",
    "Schreib die Änderung auch in {path}, bitte.",
    "请检查 {path} 的第 {number} 行。",
    "ok 👍🏽 go on",
)
_SAYS: Final = (
    "I will look at {path} first.",
    "The cause is in {path}:{number}: the minus sign is dropped before the number is read.",
    "Done. {path} now keeps the sign, and {number} tests pass.",
    "That did not work; I will try another way.\n\n1. read {path}\n2. change it\n3. run the tests",
)
_RESULTS: Final = (
    "{number} passed, 1 failed in 0.42s\nFAILED {path}::test_negative - ValueError: bad number",
    "def parse(text):\n    return int(text)\n# {path} line {number}",
    "{path}:{number}: match\n",
    "ok",
    'Traceback (most recent call last):\n  File "{path}", line {number}\nTypeError: unsupported operand',
)


def openai_chat(
    seed: int, *, turns: int = 5, result_words: int = 60, leading: int | None = None, ending: Ending | None = None
) -> Body:
    """Make a clean Chat Completions request of `turns` user turns, with tool calls, some of them parallel."""
    made = _Maker(seed, result_words)
    random = made.random
    messages: list[Json] = []
    for k in range(random.randint(0, 2) if leading is None else leading):
        role = "system" if k == 0 else "developer"
        messages += [{"role": role, "content": f"Rule {k}: never delete files."}]
    for _ in range(turns):
        messages.append({"role": "user", "content": _chat_content(random, made.ask())})
        for _ in range(random.randint(0, 3)):
            messages.extend(_chat_calls(made))
        messages.append({"role": "assistant", "content": made.say()})
    match ending or random.choice(("user", "results", "assistant")):
        case "user":
            messages.append({"role": "user", "content": made.ask()})
        case "results":
            messages.append({"role": "user", "content": made.ask()})
            messages.extend(_chat_calls(made))
    return {"model": "gpt-4o-2024-08-06", "messages": messages, "temperature": 0}


def anthropic_messages(
    seed: int, *, turns: int = 5, result_words: int = 60, thinking: bool | None = None, ending: Ending | None = None
) -> Body:
    """Make a clean Messages request of `turns` user turns, with tool use, some of it parallel, and thinking."""
    made = _Maker(seed, result_words)
    random = made.random
    thinks = random.random() < 0.5 if thinking is None else thinking

    def step() -> list[Json]:
        content, results = _tool_use(made, thinks=thinks)
        return [{"role": "assistant", "content": content}, {"role": "user", "content": results}]

    messages = _conversation(
        made,
        turns,
        ending,
        _OPEN,
        ask=lambda: {"role": "user", "content": [{"type": "text", "text": made.ask()}]},
        step=step,
        answer=lambda _: [{"role": "assistant", "content": _text_turn(made, thinks=thinks)}],
    )
    body: Body = {"model": "claude-sonnet-4-5", "max_tokens": 1024, "system": "Never delete files."}
    body["messages"] = messages
    if thinks:
        body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    body["tools"] = [
        {"name": name, "description": "A tool.", "input_schema": {"type": "object"}} for name in ("read_file", "bash")
    ]
    return body


def bedrock_converse(
    seed: int, *, turns: int = 5, result_words: int = 60, thinking: bool | None = None, ending: Ending | None = None
) -> Body:
    """Make a clean Converse request of `turns` user turns, with tool use, markers and reasoning."""
    made = _Maker(seed, result_words)
    random = made.random
    thinks = random.random() < 0.5 if thinking is None else thinking

    def step() -> list[Json]:
        content, results = _converse_calls(made, thinks=thinks)
        return [{"role": "assistant", "content": content}, {"role": "user", "content": results}]

    def answer(_: int) -> list[Json]:
        reasoned = [_reasoning(made)] if thinks and random.random() < 0.5 else []
        return [{"role": "assistant", "content": [*reasoned, {"text": made.say()}]}]

    messages = _conversation(
        made,
        turns,
        ending,
        _OPEN,
        ask=lambda: {"role": "user", "content": [{"text": made.ask()}]},
        step=step,
        answer=answer,
    )
    point: Json = {"cachePoint": {"type": "default"}}
    body: Body = {"modelId": "eu.anthropic.claude-sonnet-4-6", "system": [{"text": "Never delete files."}, point]}
    body["messages"] = messages
    if thinks:
        body["additionalModelRequestFields"] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    body["toolConfig"] = {
        "tools": [
            {"toolSpec": {"name": name, "description": "A tool.", "inputSchema": {"json": {"type": "object"}}}}
            for name in ("read_file", "bash")
        ]
    }
    return body


def mistral_chat(
    seed: int, *, turns: int = 5, result_words: int = 60, leading: int | None = None, ending: Ending | None = None
) -> Body:
    """Make a clean request to Mistral's chat completions, with calls, some of them parallel, and thinking."""
    body = openai_chat(seed, turns=turns, result_words=result_words, leading=leading, ending=ending)
    random = Random(seed)  # noqa: S311  # invented text, no secret
    messages = body["messages"]
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, dict):
            continue
        if message["role"] == "developer":
            message["role"] = "system"
        identifier = message.get("tool_call_id")
        if isinstance(identifier, str):
            message["tool_call_id"] = _nine(identifier)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                call["id"] = _nine(str(call["id"]))
        content = message["content"]
        if message["role"] == "assistant" and isinstance(content, str) and random.random() < 0.3:
            thinking: Json = {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]}
            message["content"] = [thinking, {"type": "text", "text": content}]
    return {"model": "mistral-medium-latest", "messages": messages, "random_seed": seed}


def openai_responses(
    seed: int, *, turns: int = 5, result_words: int = 60, reasons: bool | None = None, ending: Ending | None = None
) -> Body:
    """Make a clean Responses request of `turns` user turns, with calls, some of them parallel, and reasoning items."""
    made = _Maker(seed, result_words)
    random = made.random
    thinks = random.random() < 0.5 if reasons is None else reasons

    def ask() -> Json:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": made.ask()}]}

    def answer(turn: int) -> list[Json]:
        before: list[Json] = [_sealed(made)] if thinks else []
        said: Json = {"type": "output_text", "text": made.say(), "annotations": []}
        item: dict[str, Json] = {"type": "message", "id": f"msg_{turn}", "status": "completed"}
        return [*before, {**item, "role": "assistant", "content": [said]}]

    items = _conversation(
        made,
        turns,
        ending,
        _ANY,
        ask=ask,
        step=lambda: _response_calls(made, thinks=thinks),
        answer=answer,
    )
    return {"model": "gpt-5", "instructions": "Never delete files.", "input": items, "store": False}


def gemini_contents(
    seed: int, *, turns: int = 5, result_words: int = 60, ids: bool | None = None, ending: Ending | None = None
) -> Body:
    """Make a clean generateContent request of `turns` user turns, with function calls, some of them parallel."""
    made = _Maker(seed, result_words)
    random = made.random
    named = random.random() < 0.5 if ids is None else ids

    def step() -> list[Json]:
        calls, results = _function_calls(made, named=named)
        return [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]

    contents = _conversation(
        made,
        turns,
        ending,
        _ANY,
        ask=lambda: {"role": "user", "parts": [{"text": made.ask()}]},
        step=step,
        answer=lambda _: [{"role": "model", "parts": [{"text": made.say()}]}],
    )
    system: Json = {"parts": [{"text": "Never delete files."}]}
    return {"model": "gemini-2.5-pro", "systemInstruction": system, "contents": contents}


BY_FORMAT: Final[Mapping[str, Callable[..., Body]]] = MappingProxyType(
    {
        "openai.chat": openai_chat,
        "openai.responses": openai_responses,
        "anthropic.messages": anthropic_messages,
        "gemini.contents": gemini_contents,
        "bedrock.converse": bedrock_converse,
        "mistral.chat": mistral_chat,
    }
)
"""The generator of each wire format."""


def _nine(identifier: str) -> str:
    """Return the id in nine letters and digits."""
    return identifier.replace("_", "").rjust(9, "0")


class _Maker:
    """Texts and calls from one stream of chance."""

    def __init__(self, seed: int, result_words: int) -> None:
        self.random = Random(seed)  # noqa: S311  # invented text, no secret
        self._result_words = result_words
        self._calls = 0

    def ask(self) -> str:
        return self._fill(_ASKS)

    def say(self) -> str:
        return self._fill(_SAYS)

    def result(self) -> str:
        count = self.random.randint(0, self._result_words)
        words = " ".join(self.random.choices(("row", "match", "0x1f", "naïve", "값", "{}", "a/b.c"), k=count))
        return f"{self._fill(_RESULTS)}\n{words}".strip()

    def call(self) -> tuple[str, str, dict[str, Json]]:
        self._calls += 1
        path = self.random.choice(_PATHS)
        name, arguments = self.random.choice(
            (
                ("read_file", {"path": path}),
                ("bash", {"command": f"pytest -q {path}"}),
                ("grep", {"pattern": "parse", "path": path}),
                ("write_file", {"path": path, "content": self.say()}),
                ("lookup_order", {"order_id": f"#W{self.random.randint(1_000_000, 9_999_999)}"}),
            )
        )
        return f"call_{self._calls:03d}", str(name), dict(arguments)

    def _fill(self, texts: Sequence[str]) -> str:
        text = self.random.choice(texts)
        return text.replace("{path}", self.random.choice(_PATHS)).replace("{number}", str(self.random.randint(1, 999)))


def _conversation(
    made: _Maker,
    turns: int,
    ending: Ending | None,
    endings: Sequence[Ending],
    *,
    ask: Callable[[], Json],
    step: Callable[[], Sequence[Json]],
    answer: Callable[[int], Sequence[Json]],
) -> list[Json]:
    """Put `turns` turns together, and an open one unless the model speaks last: `ending`, else one of `endings`.

    A turn is what the user asks, up to three steps of calls with their results, and the answer of the turn's number.
    """
    last = ending or made.random.choice(endings)
    found: list[Json] = []
    for turn in range(turns + (last != "assistant")):
        found.append(ask())
        closes = turn == turns
        if closes and last == "user":
            break
        for _ in range(1 if closes else made.random.randint(0, 3)):
            found += step()
        if not closes:
            found += answer(turn)
    return found


def _chat_content(random: Random, text: str) -> Json:
    return [{"type": "text", "text": text}] if random.random() < 0.3 else text


def _chat_calls(made: _Maker) -> list[Json]:
    calls: list[Json] = []
    results: list[Json] = []
    for _ in range(made.random.choice((1, 1, 1, 2, 4))):
        call_id, name, arguments = made.call()
        function: Json = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=made.random.random() < 0.5)}
        calls.append({"id": call_id, "type": "function", "function": function})
        results.append({"role": "tool", "tool_call_id": call_id, "content": made.result()})
    made.random.shuffle(results)
    said: Json = None if made.random.random() < 0.6 else made.say()
    return [{"role": "assistant", "content": said, "tool_calls": calls}, *results]


def _tool_use(made: _Maker, *, thinks: bool) -> tuple[list[Json], list[Json]]:
    content: list[Json] = []
    results: list[Json] = []
    if thinks:
        content.append({"type": "thinking", "thinking": made.say(), "signature": f"sig{made.random.randint(0, 9_999)}"})
    if made.random.random() < 0.5:
        content.append({"type": "text", "text": made.say()})
    for _ in range(made.random.choice((1, 1, 2, 3))):
        call_id, name, arguments = made.call()
        content.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
        result: dict[str, Json] = {"type": "tool_result", "tool_use_id": call_id, "content": made.result()}
        if made.random.random() < 0.3:
            result["content"] = [{"type": "text", "text": made.result()}]
        if made.random.random() < 0.2:
            result["is_error"] = True
        results.append(result)
    return content, results


def _sealed(made: _Maker) -> Json:
    number = made.random.randint(0, 9_999)
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"sealed{number}"}


def _response_calls(made: _Maker, *, thinks: bool) -> list[Json]:
    calls: list[Json] = [_sealed(made)] if thinks else []
    results: list[Json] = []
    for _ in range(made.random.choice((1, 1, 1, 2, 4))):
        call_id, name, arguments = made.call()
        calls.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)})
        results.append({"type": "function_call_output", "call_id": call_id, "output": made.result()})
    made.random.shuffle(results)
    return calls + results


def _function_calls(made: _Maker, *, named: bool) -> tuple[list[Json], list[Json]]:
    calls: list[Json] = []
    results: list[Json] = []
    for _ in range(made.random.choice((1, 1, 1, 2, 3))):
        call_id, name, arguments = made.call()
        own: dict[str, Json] = {"id": call_id} if named else {}
        calls.append({"functionCall": {**own, "name": name, "args": arguments}})
        results.append({"functionResponse": {**own, "name": name, "response": {"output": made.result()}}})
    return calls, results


def _reasoning(made: _Maker) -> Json:
    return {"reasoningContent": {"reasoningText": {"text": made.say(), "signature": f"s{made.random.randint(0, 999)}"}}}


def _converse_calls(made: _Maker, *, thinks: bool) -> tuple[list[Json], list[Json]]:
    content: list[Json] = [_reasoning(made)] if thinks else []
    results: list[Json] = []
    if made.random.random() < 0.5:
        content.append({"text": made.say()})
    for _ in range(made.random.choice((1, 1, 2, 3))):
        call_id, name, arguments = made.call()
        content.append({"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}})
        answer: Json = {"text": made.result()}
        if made.random.random() < 0.2:
            answer = {"json": {"rows": [made.result()]}}
        status = "error" if made.random.random() < 0.2 else "success"
        results.append({"toolResult": {"toolUseId": call_id, "content": [answer], "status": status}})
    if made.random.random() < 0.3:
        results.append({"cachePoint": {"type": "default"}})
    return content, results


def _text_turn(made: _Maker, *, thinks: bool) -> list[Json]:
    content: list[Json] = [{"type": "text", "text": made.say()}]
    if thinks and made.random.random() < 0.5:
        content.insert(0, {"type": "thinking", "thinking": made.say(), "signature": "c2ln"})
    return content
