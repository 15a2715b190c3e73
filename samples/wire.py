"""Turns a played session into the request bodies of the formats that have one sample each."""

import json

import play


def responses_body(played: play.Session, model: str) -> dict:
    """The session as a body of OpenAI's Responses API."""
    make = play._ids("call_", restart=False)
    items: list[dict] = []
    for event in played.events:
        if event[0] == "user":
            items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": event[1]}]})
            continue
        _, text, calls, _ = event
        if text:
            items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
        ids = make(len(calls))
        for name, (call, _) in zip(ids, calls, strict=True):
            arguments = json.dumps(call.arguments, ensure_ascii=False)
            items.append({"type": "function_call", "call_id": name, "name": call.tool, "arguments": arguments})
        for name, (_, result) in zip(ids, calls, strict=True):
            items.append({"type": "function_call_output", "call_id": name, "output": result})
    tools = [{"type": "function", **_function(name)} for name in play.TOOLS]
    return {"model": model, "instructions": played.system, "input": items, "tools": tools, "store": False}


def gemini_body(played: play.Session) -> dict:
    """The session as a body of Gemini's generateContent."""
    contents: list[dict] = []
    for event in played.events:
        if event[0] == "user":
            contents.append({"role": "user", "parts": [{"text": event[1]}]})
            continue
        _, text, calls, _ = event
        parts: list[dict] = [{"text": text}] if text else []
        for number, (call, _) in enumerate(calls):
            part: dict = {"functionCall": {"name": call.tool, "args": call.arguments}}
            if number == 0:
                part["thoughtSignature"] = play._signature(call.tool)
            parts.append(part)
        contents.append({"role": "model", "parts": parts})
        if calls:
            answers = [{"functionResponse": {"name": c.tool, "response": {"output": r}}} for c, r in calls]
            contents.append({"role": "user", "parts": answers})
    return {
        "systemInstruction": {"parts": [{"text": played.system}]},
        "contents": contents,
        "tools": [{"functionDeclarations": [_function(name) for name in play.TOOLS]}],
    }


def bedrock_body(played: play.Session, model: str) -> dict:
    """The session as a body of Amazon Bedrock's Converse."""
    make = play._ids("tooluse_", restart=False)
    messages: list[dict] = []
    for event in played.events:
        if event[0] == "user":
            messages.append({"role": "user", "content": [{"text": event[1]}]})
            continue
        _, text, calls, _ = event
        ids = make(len(calls))
        content: list[dict] = [{"text": text}] if text else []
        for name, (call, _) in zip(ids, calls, strict=True):
            content.append({"toolUse": {"toolUseId": name, "name": call.tool, "input": call.arguments}})
        messages.append({"role": "assistant", "content": content})
        if calls:
            answers = [
                {"toolResult": {"toolUseId": name, "content": [{"text": result}], "status": "success"}}
                for name, (_, result) in zip(ids, calls, strict=True)
            ]
            messages.append({"role": "user", "content": answers})
    tools = []
    for name in play.TOOLS:
        function = _function(name)
        schema = {"json": function.pop("parameters")}
        tools.append({"toolSpec": {**function, "inputSchema": schema}})
    return {
        "modelId": model,
        "system": [{"text": played.system}],
        "messages": messages,
        "toolConfig": {"tools": tools},
    }


def mistral_body(played: play.Session, model: str) -> dict:
    """The session as a body of Mistral's chat completions, whose ids have nine characters."""
    body = play.openai_body(played, model)
    short: dict[str, str] = {}
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            call["id"] = short.setdefault(call["id"], f"c{len(short):08d}")
        if message["role"] == "assistant":
            message["content"] = message["content"] or ""
        if "tool_call_id" in message:
            message["tool_call_id"] = short[message["tool_call_id"]]
    return {**body, "safe_prompt": False}


def _function(name: str) -> dict:
    about, fields, needed = play.TOOLS[name]
    return {"name": name, "description": about, "parameters": play._schema(fields, needed)}
