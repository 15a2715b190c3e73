"""What a log says when it cannot do what is asked."""

import json
from pathlib import Path

import pytest

import turnfold
from turnfold.containers import Edit, apply_edits, edit_items
from turnfold.errors import ArgumentError, NotWritableError, PlanMismatchError, ReadError
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"
VECTORS = json.loads((Path(__file__).parents[1] / "vectors/errors.json").read_text(encoding="utf-8"))["logs"]
POLICY = Policy(OnRequest(), (Summarize(KeepMessages(2)),))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_what_is_no_log(vector):
    data = "".join(text * times for text, times in vector["input"]).encode()
    with pytest.raises(ReadError) as raised:
        turnfold.read_log(data, container=vector["container"])
    assert raised.value.code == vector["code"]


@pytest.mark.parametrize("data", ["text", 5, None, ["x"]])
def test_a_log_is_bytes(data):
    with pytest.raises(TypeError, match="a log is bytes"):
        turnfold.read_log(data)


def test_bytes_of_any_kind_are_taken():
    data = (SAMPLES / "sharegpt.json").read_bytes()
    for given in (data, bytearray(data), memoryview(data)):
        assert turnfold.read_log(given).write() == data


def session() -> tuple[turnfold.Log, CompactionResult]:
    log = turnfold.read_log((SAMPLES / "claude_code.jsonl").read_bytes())
    result = turnfold.compact_sync(log.transcripts[0].transcript, POLICY)
    assert isinstance(result, CompactionResult)
    return log, result


def test_a_result_of_a_transcript_that_is_not_there():
    log, result = session()
    with pytest.raises(ArgumentError, match="no transcript 'other'"):
        log.write({"other": result})


def test_a_result_of_another_transcript():
    log, result = session()
    with pytest.raises(PlanMismatchError, match="made from another"):
        log.write({log.transcripts[1].id: result})


def test_edits_that_meet_are_refused():
    for meeting in ([Edit(0, 3, b""), Edit(2, 4, b"")], [Edit(1, 1, b"a"), Edit(1, 1, b"b")], [Edit(3, 9, b"")]):
        with pytest.raises(NotWritableError, match="meet"):
            apply_edits(b"abcdef", meeting)
    assert apply_edits(b"abcdef", [Edit(3, 6, b""), Edit(1, 3, b"X"), Edit(1, 1, b"_")]) == b"a_X"


@pytest.mark.parametrize("size", range(1, 5))
def test_items_leave_an_array_with_their_commas(size):
    data = json.dumps(list(range(size)), indent=1).encode()
    spans = turnfold._core.Json(data).items([])
    for mask in range(2**size):
        removed = {k for k in range(size) if mask >> k & 1}
        left = apply_edits(data, edit_items(spans, removed, []))
        assert json.loads(left) == [k for k in range(size) if k not in removed]
        for at in range(size + 1):
            if at == size and len(removed) == size:
                continue
            written = apply_edits(data, edit_items(spans, removed, [(at, b'"new"')]))
            expected = [x for k in range(size) for x in (["new"] * (k == at) + [k] * (k not in removed))]
            assert json.loads(written) == expected + ["new"] * (at == size)
