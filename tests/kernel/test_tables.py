"""The tables that cargo test reads too, through the Python face."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import turnfold
from turnfold import Transcript, _core
from turnfold.errors import ERRORS, ReadError, TurnfoldError

VECTORS = Path(__file__).parents[1] / "vectors"


def table(name: str, part: str) -> list[dict[str, Any]]:
    cases = json.loads((VECTORS / f"{name}.json").read_text())[part]
    assert cases
    return [{"name": case.get("name", str(number)), **case} for number, case in enumerate(cases)]


def each(name: str, part: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", table(name, part), ids=lambda case: case["name"])


def spell(text: Any) -> str:
    match text:
        case {"repeat": [unit, times]}:
            return str(unit) * int(times)
        case {"join": parts}:
            return "".join(map(spell, parts))
        case {"utf16": units}:
            return "".join(map(chr, units))
        case str():
            return text
    raise AssertionError(f"an unknown form of text: {text}")


@each("tokens", "cases")
def test_tokens(case: dict[str, Any]) -> None:
    text = spell(case["text"])
    for encoding, count in case["counts"].items():
        assert turnfold.count(text, encoding) == count
        assert turnfold.count_up_to(text, count, encoding) == count
        assert count == 0 or turnfold.count_up_to(text, count - 1, encoding) is None
    for encoding, ids in case.get("ids", {}).items():
        assert _core.encode(text, encoding) == ids


def input_of(case: dict[str, Any]) -> bytes:
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    if "pieces" in case:
        return "".join(text * times for text, times in case["pieces"]).encode()
    return case["input"].encode()


@each("read", "good")
def test_read(case: dict[str, Any]) -> None:
    body = input_of(case)
    transcript = Transcript.from_json(body, format=case.get("format"))
    assert transcript.to_json() == body
    assert transcript.format == case["reads_as"]
    assert transcript.format_reason == case.get("reason", transcript.format_reason)
    assert transcript.model == case.get("head", {}).get("model", transcript.model)
    assert len(transcript) == len(case["messages"])
    for index, message in enumerate(case["messages"]):
        assert transcript.speakers[index] == message["role"]
        blocks = [msgspec.structs.asdict(block) for block in transcript.blocks(index)]
        for block in blocks:
            del block["rewritable"]  # what a rewrite may do is the splices' table
        expected = [
            {
                "kind": block["kind"],
                "path": block["path"],
                "call_id": block.get("call_id"),
                "name": block.get("name"),
                "text": "\n".join(block["texts"]),
                "is_error": block.get("is_error", False),
                "binding": block.get("binding", "free"),
                "type_name": block.get("type_name"),
            }
            for block in message["blocks"]
        ]
        assert blocks == expected


@each("read", "bad")
def test_unreadable(case: dict[str, Any]) -> None:
    with pytest.raises(ReadError) as caught:
        Transcript.from_json(input_of(case), format=case.get("format"))
    error = caught.value
    assert (error.code, error.offset, error.path) == (case["code"], case["offset"], case["path"])


@each("prefix", "cases")
def test_prefix(case: dict[str, Any]) -> None:
    before, after = (Transcript.from_json(case[side].encode(), format=case["format"]) for side in ("before", "after"))
    report = turnfold.compare_prefix(before, after)
    got = msgspec.to_builtins(report)
    tokens = got.pop("tokens")
    assert got == case["expect"]
    assert before.tokens(0, report.messages).n <= tokens <= before.tokens().n
    same = turnfold.compare_prefix(before, before)
    assert same.first_difference is None
    assert (same.before_is_prefix, same.messages) == (True, len(before))


def outcome(work: Any) -> dict[str, object]:
    try:
        return {"json": work().decode()}
    except ReadError as error:
        return {"error": error.code, "path": error.path}
    except TurnfoldError as error:
        assert type(error) is ERRORS[error.code]
        return {"error": error.code}


@each("splice", "splice")
def test_splice(case: dict[str, Any]) -> None:
    transcript = Transcript.from_json(case["body"].encode(), format=case["format"])
    parts = [part.encode() if isinstance(part, str) else range(*part) for part in case["parts"]]
    assert outcome(lambda: transcript.splice(parts).to_json()) == case["expect"]


@each("splice", "rewrite")
def test_rewrite(case: dict[str, Any]) -> None:
    transcript = Transcript.from_json(case["body"].encode(), format=case["format"])
    edits = [(case["message"], tuple((block, text) for block, text in case["texts"]))]
    assert outcome(lambda: transcript.kernel.rewrite(edits)[0]) == case["expect"]
    if "json" in case["expect"]:
        assert transcript.rewrite(case["message"], dict(case["texts"])).decode() == case["expect"]["json"]


@each("splice", "remove")
def test_remove(case: dict[str, Any]) -> None:
    transcript = Transcript.from_json(case["body"].encode(), format=case["format"])
    known = len(transcript) > 0
    remove = transcript.without_blocks if known else transcript.kernel.without_blocks
    if case["expect"] == {"json": None}:
        assert remove(case["message"], case["blocks"]) is None
    else:
        assert outcome(lambda: remove(case["message"], case["blocks"])) == case["expect"]


@each("splice", "fingerprint")
def test_fingerprint(case: dict[str, Any]) -> None:
    assert Transcript.from_json(case["body"].encode(), format=case["format"]).fingerprint == case["hex"]


@each("digests", "cases")
def test_digests(case: dict[str, Any]) -> None:
    transcript = Transcript.from_messages(case["messages"], format=case["format"])
    assert [msgspec.structs.asdict(digest) for digest in transcript.digests()] == case["expect"]
    assert transcript.digests(0, 0) == transcript.digests(len(transcript)) == ()


@each("repair", "cases")
def test_repair(case: dict[str, Any]) -> None:
    given = dict(case["options"])
    unanswered = given.pop("unanswered", "synthesize")
    options = turnfold.RepairOptions(msgspec.convert(given, turnfold.ScanOptions), unanswered)
    transcript = Transcript.from_json(case["messages"].encode(), format=case["format"])
    repaired, repairs = turnfold.repair(transcript, options)
    assert repaired.to_json().decode() == case["expect"]
    done = [[r.code, r.action, r.message, r.message_after, r.block, r.call_id] for r in repairs]
    assert done == case["repairs"]
    assert turnfold.repair(repaired, options) == (repaired, ())
