"""Claude Code: chains of parents, messages in parts, repeats, sub-agents, and its own compactions."""

import json
from pathlib import Path

import pytest

from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.errors import NotWritableError
from turnfold.model.policy import Drop, OnRequest, Policy, Step, Summarize
from turnfold.model.selection import Scope
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLE = Path(__file__).parent / "samples" / "claude_code.jsonl"
PROSE = "The keeper writes down each hour of the lamp. " * 20


def user(uuid: str, parent: str | None, content: object, **more: object) -> dict[str, object]:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}


def assistant(
    uuid: str, parent: str | None, content: object, message_id: str = "", **more: object
) -> dict[str, object]:
    message = {"role": "assistant", "content": content, **({"id": message_id} if message_id else {})}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}


def call(name: str) -> list[dict[str, object]]:
    return [{"type": "tool_use", "id": name, "name": "Read", "input": {}}]


def result(name: str) -> list[dict[str, object]]:
    return [{"type": "tool_result", "tool_use_id": name, "content": f"of {name}"}]


def log(*records: object) -> Log:
    return read_log("".join(json.dumps(record) + "\n" for record in records).encode(), container="claude_code")


def said(read: Log, number: int = 0) -> list[tuple[str, list[str]]]:
    transcript = read.transcripts[number].transcript
    return [
        (role, [b.text or b.call_id or "" for b in transcript.blocks(k)]) for k, role in enumerate(transcript.roles)
    ]


def compacted(read: Log, keep: int = 2, number: int = 0) -> tuple[list[dict], CompactionResult]:
    logged = read.transcripts[number]
    done = compact_sync(logged.transcript, Policy(OnRequest(), (Summarize(KeepMessages(keep)),)))
    assert isinstance(done, CompactionResult)
    written = read.write({logged.id: done})
    return objects(written), done


def objects(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.split(b"\n") if line.startswith(b"{") and line.endswith(b"}")]


def test_parts_of_one_message_are_one_with_all_results_behind_it():
    read = log(
        user("u1", None, "Go."),
        assistant("a1", "u1", call("c1"), "m1"),
        user("u2", "a1", result("c1")),
        assistant("a2", "a1", call("c2"), "m1"),
        assistant("a3", "a2", call("c3"), "m1"),
        user("u4", "a3", result("c3")),
        user("u3", "a2", result("c2")),
        assistant("a4", "u4", "Done."),
    )
    transcript = read.transcripts[0].transcript
    assert transcript.roles == ("user", "assistant", "user", "assistant")
    assert [block.call_id for block in transcript.blocks(1)] == ["c1", "c2", "c3"]
    assert sorted(block.call_id or "" for block in transcript.blocks(2)) == ["c1", "c2", "c3"]
    assert read.transcripts[0].origins[1] == (1, 3, 4)
    assert not read.unread


def test_a_branch_that_was_left_is_no_part_of_the_transcript():
    read = log(
        user("u1", None, "One."), assistant("a1", "u1", "No."), assistant("a2", "u1", "Yes."), user("u2", "a2", "So.")
    )
    assert [texts for _, texts in said(read)] == [["One."], ["Yes."], ["So."]]
    assert read.unread == {"superseded message": 1}


def test_each_root_is_a_transcript_and_a_missing_parent_is_none():
    read = log(user("u1", None, "One."), user("u2", None, "Two."), user("u3", "gone", "Three."))
    assert [logged.id for logged in read.transcripts] == ["s", "s/u2"]
    assert [texts for _, texts in said(read, 1)] == [["Two."], ["Three."]]


def test_a_log_without_any_links_is_one_chain():
    read = log(
        *(record(f"u{k}", None, f"{k} {PROSE}") for k in range(9) for record in [(user, assistant)[k % 2]]),
    )
    assert [len(logged.transcript) for logged in read.transcripts] == [9]
    after, _ = compacted(read)
    assert [record["parentUuid"] for record in after if record["type"] != "system"][-3:].count(None) == 2


def test_an_answer_or_a_result_begins_nothing():
    read = log(
        user("u1", None, "Go."),
        assistant("a1", "u1", call("c1")),
        user("u2", None, result("c1")),
        assistant("a2", None, "Done."),
        user("u3", None, "Another thing."),
    )
    assert [len(logged.transcript) for logged in read.transcripts] == [4, 1]


def test_repeats_with_new_uuids_are_read_once():
    read = log(
        user("u1", None, "Go.", timestamp="t1"),
        assistant("a1", "u1", call("c1"), "m1"),
        user("u2", "a1", result("c1")),
        user("v1", None, "Go.", timestamp="t1"),
        assistant("b1", "v1", call("c1"), "m1"),
        user("v2", "b1", result("c1")),
        assistant("b2", "v2", "Done.", "m2"),
    )
    assert len(read.transcripts) == 1
    assert read.transcripts[0].transcript.roles == ("user", "assistant", "user", "assistant")


def test_sub_agents_inline_and_in_progress_records():
    embedded = assistant("x1", None, "From afar.", "m9")
    read = log(
        user("u1", None, "Go."),
        user("s1", None, "Sub.", isSidechain=True, agentId="ag1"),
        assistant("s2", "s1", "Subbed.", isSidechain=True, agentId="ag1"),
        {
            "type": "progress",
            "uuid": "p",
            "parentUuid": "u1",
            "sessionId": "s",
            "data": {"agentId": "ag2", "message": embedded},
        },
        {"type": "progress", "uuid": "q", "parentUuid": "u1", "sessionId": "s", "data": {"type": "hook_progress"}},
    )
    assert [(t.id, len(t.transcript)) for t in read.transcripts] == [("s", 1), ("ag1", 2), ("ag2", 1)]
    assert read.unread == {"progress": 1}


def test_the_text_of_attachments_is_sent_and_errors_are_not():
    queued = {"type": "queued_command", "prompt": "Hurry."}
    hook = {"type": "hook_additional_context", "content": ["idle", "busy"]}
    read = log(
        user("u1", None, "Go."),
        {"type": "attachment", "uuid": "t1", "parentUuid": "u1", "sessionId": "s", "attachment": queued},
        {"type": "attachment", "uuid": "t2", "parentUuid": "t1", "sessionId": "s", "attachment": hook},
        {
            "type": "attachment",
            "uuid": "t3",
            "parentUuid": "t2",
            "sessionId": "s",
            "attachment": {"type": "x", "content": []},
        },
        assistant("a1", "t3", "API Error", isApiErrorMessage=True),
        user("u2", "a1", "Again."),
    )
    assert [texts for _, texts in said(read)] == [["Go."], ["Hurry."], ["idle\nbusy"], ["Again."]]
    assert read.unread == {"attachment": 1, "api error": 1}


def test_a_boundary_hides_what_came_before():
    boundary: dict[str, object] = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    records: list[dict[str, object]] = [
        user("u1", None, "Old."),
        assistant("a1", "u1", "Old answer."),
        user("u2", "a1", "Kept."),
        {**boundary, "logicalParentUuid": "u2", "sessionId": "s"},
        user("c", "b", "Summary.", isCompactSummary=True),
        assistant("a2", "c", "New answer."),
    ]
    assert [texts for _, texts in said(log(*records))] == [["Summary."], ["New answer."]]
    segment = {"preservedSegment": {"headUuid": "u2", "anchorUuid": "c", "tailUuid": "u2"}}
    records[3] = {**records[3], "compactMetadata": segment}
    records[5] = assistant("a2", "u2", "New answer.")
    kept = log(*records)
    assert [texts for _, texts in said(kept)] == [["Summary."], ["Kept."], ["New answer."]]


def test_a_compaction_is_a_boundary_and_a_summary_linked_to_what_stays():
    read = read_log(SAMPLE.read_bytes())
    before = objects(SAMPLE.read_bytes())
    after, done = compacted(read)
    at = next(k for k, record in enumerate(after) if record.get("subtype") == "compact_boundary")
    boundary, summary, first = after[at : at + 3]
    assert boundary["compactMetadata"] == {"trigger": "manual", "preTokens": done.before.n}
    assert (boundary["parentUuid"], summary["parentUuid"], first["parentUuid"]) == (
        None,
        boundary["uuid"],
        summary["uuid"],
    )
    assert (summary["isCompactSummary"], summary["message"]["content"]) == (True, done.summary)
    assert (
        boundary["timestamp"]
        == before[[r.get("uuid") for r in before].index(boundary["logicalParentUuid"])]["timestamp"]
    )
    assert [*after[:at], first | {"parentUuid": before[at]["parentUuid"]}, *after[at + 3 :]] == before


def loaded(records: list[dict]) -> list[str]:
    """What a plain loader sees: from the last record of the session, parent by parent."""
    known = {record["uuid"]: record for record in records if "uuid" in record}
    at: dict | None = [r for r in records if r.get("type") in {"user", "assistant"} and r.get("isSidechain") is False][
        -1
    ]
    chain = []
    while at is not None:
        chain.append(at)
        at = known.get(at["parentUuid"])
    return [json.dumps(r["message"]["content"]) for r in chain[::-1] if "message" in r]


@pytest.mark.parametrize("keep", [1, 2, 4, 6])
def test_a_loader_that_follows_parents_sees_the_summary_and_what_stays(keep):
    read = read_log(SAMPLE.read_bytes())
    after, done = compacted(read, keep)
    contents = loaded(after)
    assert contents[0] == json.dumps(done.summary)
    before = loaded(objects(SAMPLE.read_bytes()))
    assert 1 < len(contents) <= len(before)
    assert contents[1:] == before[len(before) - len(contents) + 1 :]


def test_what_only_progress_records_hold_is_not_written():
    records = [user("u1", None, "Go.")]
    for k in range(7):
        message = (user, assistant)[k % 2](f"x{k}", None, f"{k} {PROSE}")
        records.append(
            {"type": "progress", "uuid": f"p{k}", "sessionId": "s", "data": {"agentId": "ag", "message": message}}
        )
    with pytest.raises(NotWritableError, match="`progress` records only"):
        compacted(log(*records), number=1)


@pytest.mark.parametrize("shape", ["lines", "array", "loglines"])
def test_records_without_ids_are_one_session(shape):
    records = [
        {"type": ("user", "assistant")[k % 2], "timestamp": f"t{k}", "message": {"content": f"{k} {PROSE}"}}
        for k in range(7)
    ]
    data = "\n".join(json.dumps(record) for record in records)
    if shape == "array":
        data = json.dumps(records, indent=1)
    if shape == "loglines":
        data = json.dumps({"loglines": records})
    read = read_log(data.encode())
    assert (read.container, len(read.transcripts[0].transcript)) == ("claude_code", 7)
    logged = read.transcripts[0]
    done = compact_sync(logged.transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(done, CompactionResult)
    again = read_log(read.write({logged.id: done}))
    assert said(again)[0] == ("user", [done.summary])
    assert len(again.transcripts[0].transcript) == 3


def talk(count: int) -> list[dict[str, object]]:
    """A session of that many messages, the user's short and the answers long."""
    made: list[dict[str, object]] = []
    for number in range(count):
        parent = f"r{number - 1}" if number else None
        if number % 2:
            made.append(assistant(f"r{number}", parent, f"{PROSE}{number}", f"m{number}"))
        else:
            made.append(user(f"r{number}", parent, f"Question {number}"))
    return made


def written(read: Log, step: Step) -> tuple[dict[str, dict], Log]:
    done = compact_sync(read.transcripts[0].transcript, Policy(OnRequest(), (step,)))
    assert isinstance(done, CompactionResult)
    data = read.write({read.transcripts[0].id: done})
    kept = {record["uuid"]: record for record in objects(data)}
    before = {record["uuid"]: record for record in objects(read.document.data)}
    assert all({**kept[name], "parentUuid": None} == {**record, "parentUuid": None} for name, record in before.items())
    return kept, read_log(data)


def test_messages_that_go_without_a_summary_stay_on_a_branch():
    first = {"type": "user", "uuid": "q", "parentUuid": None, "sessionId": "s", "isMeta": True}
    records: list[dict[str, object]] = [{**first, "message": {"role": "user", "content": "Hi"}}, *talk(8)]
    records[1]["parentUuid"] = "q"
    kept, again = written(log(*records), Drop(keep=KeepMessages(2), scope=Scope(head=KeepMessages(3))))
    assert kept["r6"]["parentUuid"] == "r1"
    assert [record["uuid"] for record in kept.values()] == ["q", *(f"r{k}" for k in range(8))]
    assert again.unread["superseded message"] == 4


def test_a_session_whose_start_goes_begins_at_a_boundary():
    kept, again = written(log(*talk(6)), Drop(keep=KeepMessages(2)))
    (boundary,) = (name for name, record in kept.items() if record.get("subtype") == "compact_boundary")
    assert kept[boundary]["parentUuid"] is None
    assert kept[boundary]["logicalParentUuid"] == "r3"
    assert kept["r4"]["parentUuid"] == boundary
    assert [t.id for t in again.transcripts] == ["s"]


def test_what_stays_hangs_behind_the_summary_in_order():
    kept, again = written(
        log(*talk(8)), Summarize(KeepMessages(2), max_tokens=120, place="start", scope=Scope(user_verbatim=True))
    )
    (summary,) = (name for name, record in kept.items() if record.get("isCompactSummary"))
    boundary = kept[summary]["parentUuid"]
    assert kept[boundary]["subtype"] == "compact_boundary"
    assert [kept[f"r{k}"]["parentUuid"] for k in (0, 2, 4, 6)] == [summary, "r0", "r2", "r4"]
    assert [role for role, _ in said(again)] == ["user"] * 5 + ["assistant"]


def test_a_summary_of_the_assistant_is_its_message():
    step = Summarize(KeepMessages(2), role="assistant", max_tokens=120, scope=Scope(head=KeepMessages(1)))
    kept, again = written(log(*talk(8)), step)
    (new,) = (record for name, record in kept.items() if not name.startswith("r"))
    assert (new["type"], new["parentUuid"], "isCompactSummary" in new) == ("assistant", "r0", False)
    assert kept["r6"]["parentUuid"] == new["uuid"]
    assert [role for role, _ in said(again)] == ["user", "assistant", "user", "assistant"]


def test_records_without_parents_hold_one_summary_only():
    bare = [{key: value for key, value in record.items() if key != "parentUuid"} for record in talk(8)]
    read = log(*({**record, "isSidechain": False} for record in bare))
    done = compact_sync(read.transcripts[0].transcript, Policy(OnRequest(), (Drop(keep=KeepMessages(2)),)))
    assert isinstance(done, CompactionResult)
    with pytest.raises(NotWritableError, match="name no parents"):
        read.write({read.transcripts[0].id: done})
