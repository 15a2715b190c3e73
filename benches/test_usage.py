"""Recordings are read as what was sent, answered and reported: on one that is written here."""

import gzip
import json
from pathlib import Path

import yaml
from usage import family_of
from usage_sources import Exchange, exchanges

RESPONSES = "https://api.openai.com/v1/responses"
FIRST, SECOND = ("resp_" + 48 * digit for digit in "ab")


def recorded(folder: Path, *halves: tuple[str, dict, dict]) -> list[Exchange]:
    interactions = [
        {"request": {"uri": uri, "body": json.dumps(sent)}, "response": {"body": {"string": json.dumps(answer)}}}
        for uri, sent, answer in halves
    ]
    (folder / "one.yaml.gz").write_bytes(gzip.compress(yaml.safe_dump({"interactions": interactions}).encode()))
    (folder / "MANIFEST.tsv").write_text("file\tformat\none.yaml.gz\tcassette/test\n", encoding="utf-8")
    return list(exchanges(folder))


def said(role: str, text: str) -> dict:
    return {"role": role, "content": text}


def answer(given: str, text: str, tokens: int) -> dict:
    return {"id": given, "model": "gpt-4.1", "output": [said("assistant", text)], "usage": {"input_tokens": tokens}}


def test_what_the_server_held_is_put_in(tmp_path: Path) -> None:
    first = {"model": "gpt-4.1", "input": "One?"}
    more = {"model": "gpt-4.1", "input": [said("user", "Two?")]}
    unknown = more | {"previous_response_id": "resp_" + 48 * "c"}
    plain, _, lost = recorded(
        tmp_path,
        (RESPONSES, first, answer(FIRST, "Yes.", 8)),
        (RESPONSES, more | {"previous_response_id": FIRST}, answer(SECOND, "No.", 20)),
        (RESPONSES, unknown, answer("resp_" + 48 * "d", "No.", 20)),
    )
    assert json.loads(plain.body) == first
    assert json.loads(lost.body) == unknown
    last = recorded(
        tmp_path,
        (RESPONSES, first, answer(FIRST, "Yes.", 8)),
        (RESPONSES, more | {"previous_response_id": FIRST}, answer(SECOND, "No.", 20)),
        (RESPONSES, more | {"previous_response_id": SECOND}, answer("resp_" + 48 * "d", "No.", 20)),
    )[-1]
    texts = [item["content"] for item in json.loads(last.body)["input"]]
    assert texts == ["One?", "Yes.", "Two?", "No.", "Two?"]
    assert "previous_response_id" not in json.loads(last.body)


def test_the_model_is_the_one_that_answered(tmp_path: Path) -> None:
    chat = "https://api.openai.com/v1/chat/completions"
    vertex = "https://x-aiplatform.googleapis.com/v1/publishers/google/models/gemini-3-flash:generateContent"
    other, google = recorded(
        tmp_path,
        (chat, {"model": "gpt-4.1", "messages": []}, {"model": "moon/kimi-k2", "usage": {"prompt_tokens": 9}}),
        (vertex, {"contents": []}, {"usageMetadata": {"promptTokenCount": 7}}),
    )
    assert (other.format, other.model, other.prompt_tokens) == ("openai.chat", "moon/kimi-k2", 9)
    assert family_of(other.format, other.model or "") == "openai.chat: kimi"
    assert (google.model, google.service, google.prompt_tokens) == ("gemini-3-flash", "Vertex", 7)


def test_an_answer_without_the_providers_id_was_written(tmp_path: Path) -> None:
    body = {"model": "gpt-5", "input": "One?"}
    found = recorded(tmp_path, (RESPONSES, body, answer(FIRST, "a", 9)), (RESPONSES, body, answer("resp_12", "a", 9)))
    assert [one.by_hand for one in found] == [False, True]
