"""Search trees, debug logs, and records that stand alone."""

import json

import pytest

from turnfold import CompactionResult, KeepMessages, OnRequest, Policy, Summarize, compact_sync
from turnfold.containers import read_log


def node(kind: str, description: str, *children: object, **fields: object) -> dict[str, object]:
    return {"node_type": kind, "description": description, "children": list(children), **fields}


def searched(*children: object) -> bytes:
    tree = {"tree": {"tree": node("Action Input", "", *children)}}
    return json.dumps({**tree, "answer_generation": {"query": "Where is the crane?", "train_messages": []}}).encode()


def test_each_branch_of_a_search_is_a_transcript_and_branches_share_their_start():
    late = node("Thought", "It moved.")
    found = node("Action Input", '{"at": 1}', late, node("Action", "look"), observation="north quay")
    log = read_log(searched(node("Thought", "I look.", node("Action", "look", found))))
    assert log.container == "toolbench_tree"
    first, second = log.transcripts
    call = {"role": "assistant", "content": "I look.", "function_call": {"name": "look", "arguments": '{"at": 1}'}}
    shared = [
        {"role": "user", "content": "Where is the crane?"},
        call,
        {"role": "function", "name": "look", "content": "north quay"},
    ]
    assert first.id == "branch 0.0.0.0"
    assert list(first.transcript.messages) == [*shared, {"role": "assistant", "content": "It moved."}]
    assert first.origins == ((), (1, 2, 3), (3,), (4,))
    tried = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": ""}}
    assert list(second.transcript.messages) == [*shared, tried]
    assert second.origins[-1] == (5,)


def test_an_input_without_an_action_and_two_actions_in_a_row_are_messages():
    log = read_log(
        searched(node("Action Input", "{}", node("Action", "a", node("Action", "b")), observation="no such function"))
    )
    (only,) = log.transcripts
    assert only.transcript.roles == ("user", "assistant", "function", "assistant", "assistant")


def test_a_tree_with_training_messages_is_read_from_those():
    message = {"role": "user", "content": "Where is the crane?"}
    value = json.loads(searched(node("Thought", "x")))
    value["answer_generation"]["train_messages"] = [[message]]
    assert read_log(json.dumps(value).encode()).container == "toolbench"


def entry(head: str, value: object = None) -> str:
    return f"[10:00:00.000] {head}\n" + ("" if value is None else f" {json.dumps(value, indent=1)}\n")


def sent(role: str, content: object, **fields: object) -> str:
    message = {"role": role, "content": content, **fields}
    return entry("[CLAUDE] Message from remote mode:", {"type": role, "message": message, "session_id": "s"})


def scanned(uuid: str, role: str, content: object) -> str:
    value = {"uuid": uuid, "sessionId": "t", "type": role, "message": {"role": role, "content": content}}
    return entry("[SESSION_SCANNER] Processing message", value)


ASKED = entry("User message pushed to queue:", {"role": "user", "content": {"type": "text", "text": "Hi"}})


def test_a_conversation_that_a_debug_log_tells_twice_is_read_once():
    said = {"type": "text", "text": "Ho"}
    log = read_log(
        (
            entry("Starting")
            + ASKED
            + sent("assistant", [said], id="m1")
            + scanned("u1", "user", "Hi")
            + scanned("u2", "assistant", [said])
        ).encode()
    )
    (only,) = log.transcripts
    assert (log.container, only.id) == ("happy", "s")
    assert [message["role"] for message in only.transcript.messages] == ["user", "assistant"]
    assert dict(log.unread) == {"Starting": 1, "[SESSION_SCANNER] user": 1, "[SESSION_SCANNER] assistant": 1}


def test_blocks_of_one_message_are_joined_and_what_the_log_cut_stays():
    call = {"type": "tool_use", "id": "c", "name": "n", "input": {}}
    data = ASKED + sent("assistant", ["... [truncated]"], id="m") + sent("assistant", [call], id="m")
    (only,) = read_log(data.encode()).transcripts
    assert only.transcript.messages[1]["content"] == [{"type": "text", "text": "... [truncated]"}, call]
    assert only.origins == ((0,), (1, 2))


def test_without_answers_of_the_sdk_the_sessions_records_are_read():
    data = scanned("u1", "user", "Hi") + scanned("u1", "user", "Hi") + scanned("u2", "assistant", "Ho")
    (only,) = read_log((data + entry("torn", None) + " {").encode()).transcripts
    assert (only.id, only.origins) == ("t", ((0,), (2,)))


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ({"agent": "a", "name": "run", "arguments": "{}", "call_id": "c"}, "tool_call"),
        ({"call_id": "c", "output": "done"}, "tool_result"),
        ({"role": "user", "content": [{"type": "input_text", "text": "Hi"}], "is_meta": True}, "text"),
        ({"model": "m", "summary": [{"type": "summary_text", "text": "Hm"}]}, "reasoning"),
    ],
)
def test_a_single_item_is_read_as_one_line_or_spread_over_several(item: object, kind: str):
    for indent in (None, 2):
        data = json.dumps(item, indent=indent).encode()
        log = read_log(data)
        (only,) = log.transcripts
        assert (log.container, only.transcript.format) == ("omnigent", "openai.responses")
        assert [block.kind for block in only.transcript.blocks(0)] == [kind]
        assert only.origins == ((0,),)
        assert log.write() == data


def test_an_item_that_is_a_document_of_its_own_is_replaced_by_its_summary():
    text = {"type": "output_text", "text": "Crane 4 stands at the north quay, where Ines moved it. " * 40}
    data = json.dumps({"role": "assistant", "content": [text], "agent": "opal"}, indent=2).encode() + b"\n"
    log = read_log(data)
    policy = Policy(OnRequest(), (Summarize(KeepMessages(0), max_tokens=60, task_max_tokens=10),))
    result = compact_sync(log.transcripts[0].transcript, policy)
    assert isinstance(result, CompactionResult)
    written = log.write({"session": result})
    assert written.endswith(b"}\n")
    assert read_log(written).transcripts[0].transcript.roles == ("user",)


def test_a_record_of_a_compaction_is_carried_along():
    data = b'{"call_id":"c","output":"done"}\n{"summary":"Earlier.","last_item_id":"fco_1","model":"m"}\n{"x":1}\n'
    assert dict(read_log(data).unread) == {"compaction": 1, "item of another kind": 1}
