"""What only Alpaca's form has."""

import json
from pathlib import Path

import pytest

from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.errors import NotWritableError
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLE = Path(__file__).parent / "samples" / "alpaca.json"


def test_the_last_exchange_stands_behind_the_history():
    first, second = read_log(SAMPLE.read_bytes()).transcripts
    assert (first.id, second.id) == ("[0]", "gull-2")
    assert first.transcript.roles == ("system", "user", "assistant", "user", "assistant", "user", "assistant")
    assert first.origins == ((), (0,), (0,), (2,), (2,), (), ())
    assert first.transcript.message_json(5) == (
        rb'{"role":"user","content":"And back, \ud83d in the evening?\nI have a bicycle with me."}'
    )
    assert second.transcript.messages[-2:] == [
        {"role": "user", "content": "Name the grey one."},
        {"role": "assistant", "content": "The herring gull."},
    ]


def test_a_record_without_a_history_is_one_exchange_or_a_question():
    lines = [{"instruction": "Hi.", "output": "Hello."}, {"instruction": "Sum up.", "input": "a b", "output": ""}, {}]
    log = read_log("\n".join(map(json.dumps, lines)).encode())
    assert log.container == "alpaca"
    assert [logged.transcript.roles for logged in log.transcripts] == [("user", "assistant"), ("user",)]
    assert [logged.id for logged in log.transcripts] == ["line 1", "line 2"]
    assert log.unread == {"line without messages": 1}


@pytest.mark.parametrize("history", [None, 3, "ab", {}, [7, None, {"0": "a"}, ["only asked"], [1, 2], []]])
def test_a_history_of_another_shape_is_carried_along(history: object):
    data = json.dumps([{"instruction": "Hi.", "output": "Hello.", "history": history}]).encode()
    log = read_log(data)
    assert log.transcripts[0].transcript.roles[-2:] == ("user", "assistant")
    assert log.write() == data


def test_a_summary_is_a_pair_of_which_one_side_is_silent():
    log = read_log(SAMPLE.read_bytes())
    first = log.transcripts[0]
    result = compact_sync(first.transcript, Policy(OnRequest(), (Summarize(KeepMessages(2), max_tokens=80),)))
    assert isinstance(result, CompactionResult)
    written = json.loads(log.write({first.id: result}))
    (question, answer), silent = written[0]["history"]
    assert question.startswith("<")
    assert (answer, silent) == ("", ["", ""])
    assert written[1] == json.loads(SAMPLE.read_bytes())[1]


def test_what_stands_outside_of_the_history_stays():
    log = read_log(SAMPLE.read_bytes())
    first = log.transcripts[0]
    result = compact_sync(first.transcript, Policy(OnRequest(), (Summarize(KeepMessages(0), max_tokens=80),)))
    assert isinstance(result, CompactionResult)
    with pytest.raises(NotWritableError, match="does not stand among the records"):
        log.write({first.id: result})
