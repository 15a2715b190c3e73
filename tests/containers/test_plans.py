"""Plans that are more than one summary at the start, in logs whose tools record a compaction in their own way."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from turnfold import presets
from turnfold.checks import scan
from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.containers.log import says
from turnfold.errors import NotWritableError
from turnfold.model.policy import Drop, OnRequest, Policy, Summarize
from turnfold.model.selection import Scope
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"
NAMES = (
    "aider.md",
    "atif.json",
    "gemini_cli.json",
    "gemini_cli-lines.jsonl",
    "kimi.jsonl",
    "opencode.json",
    "pi.jsonl",
    "pi-old.jsonl",
    "qwen_code.jsonl",
    "qwen_code-compressed.jsonl",
)
WORDS = Summarize(KeepMessages(2), max_tokens=60, scope=Scope(user_verbatim=True))
POLICIES = {
    "dropped": Policy(OnRequest(), (Drop(keep=KeepMessages(2)),), thinking_policy="keep"),
    "the user's words": Policy(OnRequest(), (WORDS,), thinking_policy="keep"),
    "kept behind": Policy(OnRequest(), (replace(WORDS, place="start"),), thinking_policy="keep"),
    "in the middle": replace(presets.evicted_turns(head=1, tail=1, limit_tokens=1_500), trigger=OnRequest()),
    "the assistant's": replace(presets.memory_encoder(limit_tokens=1_500), trigger=OnRequest()),
}


def compacted(log: Log, policy: Policy) -> dict[str, CompactionResult]:
    made = {logged.id: compact_sync(logged.transcript, policy) for logged in log.transcripts}
    return {name: result for name, result in made.items() if isinstance(result, CompactionResult)}


def written(name: str, policy: str) -> bytes:
    log = read_log((SAMPLES / name).read_bytes())
    results = compacted(log, POLICIES[policy])
    if not results:
        pytest.skip("the policy has nothing to do here")
    return log.write(results)


def records(data: bytes) -> list[dict[str, object]]:
    return [msgspec.json.decode(line, type=dict[str, object]) for line in data.split(b"\n") if line.startswith(b"{")]


def appended(name: str, policy: str) -> list[dict[str, object]]:
    before, after = (SAMPLES / name).read_bytes(), written(name, policy)
    assert after.startswith(before)
    return records(after[len(before) :])


REFUSED = {("pi-old.jsonl", "dropped")}
"""Nothing can stand beside an earlier compaction where entries have no ids."""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", NAMES)
def test_it_is_written_and_reads_as_the_result(name: str, policy: str):
    log = read_log((SAMPLES / name).read_bytes())
    results = compacted(log, POLICIES[policy])
    if (name, policy) in REFUSED:
        with pytest.raises(NotWritableError, match="open the session in pi"):
            log.write(results)
        return
    again = {logged.id: logged.transcript for logged in read_log(log.write(results)).transcripts}
    for identifier, result in results.items():
        assert says(again[identifier]) == says(result.transcript)
        assert {f.code for f in scan(again[identifier]).findings} <= {f.code for f in result.findings}


def test_most_of_these_have_something_to_write():
    done = {(n, p) for n in NAMES for p in POLICIES if compacted(read_log((SAMPLES / n).read_bytes()), POLICIES[p])}
    assert {policy for _, policy in done} == set(POLICIES)
    assert {name for name, _ in done} == set(NAMES)


def test_qwen_says_the_whole_history_again():
    (record,) = appended("qwen_code.jsonl", "dropped")
    assert record["subtype"] == "chat_compression"


def test_gemini_says_the_messages_again():
    (record,) = appended("gemini_cli-lines.jsonl", "kept behind")
    assert set(record) == {"$set"}


@pytest.mark.parametrize(
    ("policy", "kind"), [("dropped", "context.clear"), ("kept behind", "context.apply_compaction")]
)
def test_kimi_empties_the_context_and_appends_what_stays(policy: str, kind: str):
    first, *rest = appended("kimi.jsonl", policy)
    assert first["type"] == kind
    assert "keptUserMessageCount" not in first
    begun: set[object] = set()
    called: set[object] = set()
    is_open = False
    for record in rest:
        if record["type"] == "context.append_message":
            assert not is_open
            continue
        event = msgspec.convert(record["event"], dict[str, object])
        match event["type"]:
            case "step.begin":
                assert not is_open
                assert event["uuid"] not in begun
                begun.add(event["uuid"])
                is_open = True
            case "step.end":
                assert event["uuid"] in begun
                is_open = False
            case "tool.call":
                called.add(event["toolCallId"])
            case "tool.result":
                # The tool forgets open calls where their step ends.
                assert is_open
                assert event["toolCallId"] in called
            case _:
                assert event["stepUuid"] in begun


def test_pi_goes_on_in_a_branch_of_its_tree():
    entries = appended("pi.jsonl", "in the middle")
    summary = next(entry for entry in entries if entry["type"] in {"branch_summary", "message"})
    known = {entry.get("id") for entry in records((SAMPLES / "pi.jsonl").read_bytes())}
    links = [(entry["id"], entry["parentId"]) for entry in entries]
    assert summary["id"]
    assert links[0][1] is None or links[0][1] in known
    assert [parent for _, parent in links[1:]] == [name for name, _ in links[:-1]]
    assert known.isdisjoint(name for name, _ in links)


def test_pi_says_what_stays_behind_the_summary_again_before_it():
    for name in ("pi.jsonl", "pi-old.jsonl"):
        *_, last = appended(name, "kept behind")
        assert last["type"] == "compaction"


def test_opencodes_messages_stay_in_the_order_of_their_ids():
    for policy in POLICIES:
        value = msgspec.json.decode(written("opencode.json", policy))
        ids = [message["info"]["id"] for message in value["messages"]]
        assert ids == sorted(ids)
        assert len(set(ids)) == len(ids)
        parts = [
            (part["messageID"], message["info"]["id"]) for message in value["messages"] for part in message["parts"]
        ]
        assert all(own in {name, None} for own, name in parts)


def test_aider_parts_messages_of_one_speaker_that_come_to_stand_together():
    chat = b"# aider chat started at 2026-01-01 00:00:00\n\n#### one\n\ntwo\n\n#### three\n\nfour\n\n#### five\n\nsix\n"
    log = read_log(chat)
    (logged,) = log.transcripts
    policy = Policy(OnRequest(), (Drop(keep=KeepMessages(1)),), thinking_policy="keep")
    result = compact_sync(logged.transcript, policy)
    assert isinstance(result, CompactionResult)
    again = read_log(log.write({logged.id: result}))
    assert says(again.transcripts[0].transcript) == says(result.transcript)
    assert len(again.transcripts[0].transcript) < 6
