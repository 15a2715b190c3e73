"""What only logs of Copilot CLI have."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"
LOG = read_log((SAMPLES / "copilot_cli.jsonl").read_bytes())


def test_an_answer_has_its_calls_and_its_thought():
    main = LOG.transcripts[0].transcript
    assert main.roles[:6] == ("system", "user", "assistant", "tool", "tool", "assistant")
    answer = json.loads(main.message_json(2))
    assert answer["reasoning_content"] == "Two looks are enough."
    assert [call["function"]["arguments"] for call in answer["tool_calls"]] == [
        '{"command":"wc -l menu.csv"}',
        '{"path":"menu.csv"}',
    ]


def test_what_was_sent_is_read_not_what_was_typed():
    user = json.loads(LOG.transcripts[0].transcript.message_json(1))
    assert user["content"][0]["text"].startswith("<now>")
    assert user["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_a_failed_call_has_its_error_as_result():
    assert (
        json.loads(LOG.transcripts[0].transcript.message_json(4))["content"] == "menu.csv cannot be shown: it is locked"
    )


def test_reasoning_of_its_own_belongs_to_the_next_answer():
    logged = LOG.transcripts[0]
    last = json.loads(logged.transcript.message_json(len(logged.transcript) - 1))
    assert last["reasoning_content"] == "The rye row is bare."
    assert len(logged.origins[-1]) == 2


def test_a_sub_agent_is_a_transcript_of_its_own():
    main, agent = LOG.transcripts
    assert agent.id == f"{main.id}/call_b3"
    assert agent.transcript.roles == ("user", "assistant")


def test_a_compaction_stands_for_what_came_before_it_started():
    data = (SAMPLES / "copilot_cli-compacted.jsonl").read_bytes()
    transcript = read_log(data).transcripts[0].transcript
    assert transcript.roles == ("system", "user", "user", "assistant", "user", "assistant")
    assert b"summer menu" in transcript.message_json(1)
    assert json.loads(transcript.message_json(2))["content"] == "And then?"


def test_a_compaction_that_failed_replaces_nothing():
    data = (SAMPLES / "copilot_cli-compacted.jsonl").read_bytes().replace(b'"success":true', b'"success":false')
    assert b"Plan the summer menu" in read_log(data).transcripts[0].transcript.message_json(1)


def test_the_chain_of_events_holds_behind_a_summary():
    logged = LOG.transcripts[0]
    result = compact_sync(logged.transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    events = [json.loads(line) for line in LOG.write({logged.id: result}).splitlines()]
    known = {event["id"]: event for event in events}
    assert len(known) == len(events)
    at, seen = events[-1], 0
    while at["parentId"] is not None:
        at, seen = known[at["parentId"]], seen + 1
    assert at["type"] == "session.start"
    assert seen > 3
