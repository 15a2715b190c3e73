"""Oddities of tau-bench results: ids that come again, arguments as objects, fields that are null."""

import json
from pathlib import Path

from turnfold.checks import scan
from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def read(name: str) -> Log:
    return read_log((SAMPLES / name).read_bytes())


def test_ids_say_task_and_trial():
    assert [logged.id for logged in read("tau_bench.json").transcripts] == ["0/0", "1/0", "1/1"]
    assert [logged.id for logged in read("tau_bench-one.json").transcripts] == ["4/0"]


def test_the_view_is_made_of_the_messages_own_bytes():
    log = read("tau_bench.json")
    for logged in log.transcripts:
        for index in range(len(logged.transcript)):
            assert logged.transcript.message_json(index) in log.document.data


def test_an_id_that_comes_again_breaks_no_pair():
    for name in ("tau_bench.json", "tau_bench-one.json"):
        for logged in read(name).transcripts:
            report = scan(logged.transcript)
            assert report.ok
            assert len(report.pairs) == 6
            assert not report.pending


def test_one_episode_is_compacted_and_the_others_stay():
    log = read("tau_bench.json")
    result = compact_sync(log.transcripts[1].transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    before, after = json.loads(log.document.data), json.loads(log.write({"1/0": result}))
    assert after[0] == before[0]
    assert after[2] == before[2]
    assert after[1]["traj"][1] == {"role": "user", "content": result.summary}
    assert {**after[1], "traj": None} == {**before[1], "traj": None}
