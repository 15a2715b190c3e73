"""Oddities of tau2-bench results: calls of the simulated user, several results in one message, ids in `id`."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.model.policy import OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def read() -> Log:
    return read_log((SAMPLES / "tau2.json").read_bytes())


def test_calls_of_the_simulated_user_are_not_the_agents():
    log = read()
    assert [logged.id for logged in log.transcripts] == ["sim-a", "sim-b"]
    assert log.unread == {"call or result of the simulated user": 4}
    assert b"look_at_gauge" not in log.transcripts[0].transcript.to_json()


def test_the_policy_is_the_system_prompt():
    logged = read().transcripts[0]
    assert logged.transcript.roles[:2] == ("system", "assistant")
    assert logged.origins[0] == ()


def test_several_results_in_one_message_are_several():
    logged = read().transcripts[0]
    places = [place for results in logged.results for place in results]
    assert places[:2] == [(6, ("tool_messages", 0, "content")), (6, ("tool_messages", 1, "content"))]


def test_results_are_shortened_where_they_stand():
    log = read()
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (TruncateResults(20, 20),)))
    assert isinstance(result, CompactionResult)
    before, after = json.loads(log.document.data), json.loads(log.write({"sim-a": result}))
    old, new = (document["simulations"][0]["messages"][6]["tool_messages"] for document in (before, after))
    assert new[0] == old[0] or len(new[0]["content"]) < len(old[0]["content"])
    assert len(new[1]["content"]) < len(old[1]["content"])
    assert {**new[1], "content": ""} == {**old[1], "content": ""}


def test_what_the_user_called_stays_beside_the_summary():
    log = read()
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    messages = json.loads(log.write({"sim-a": result}))["simulations"][0]["messages"]
    assert [message["role"] for message in messages] == ["user", "user", "tool", "assistant", "user"]
    assert messages[0]["content"] == result.summary
