"""repair: what is mended, what is written where, what is left alone, what is refused."""

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from turnfold import Transcript, scan

SESSION = Path(__file__).parents[1] / "containers" / "samples" / "claude_code.jsonl"
MADE_UP = "[turnfold: no result was recorded for this call]"

USER: dict[str, object] = {"role": "user", "content": "Which services run?"}
NEXT: dict[str, object] = {"role": "user", "content": "And the ports?"}
ANSWER: dict[str, object] = {"role": "assistant", "content": "Two of them."}


def call(identifier: str) -> dict[str, object]:
    function = {"name": "run", "arguments": '{"q":"services"}'}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": identifier, "type": "function", "function": function}],
    }


def result(identifier: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": identifier, "content": "api, worker"}


ABANDONED: list[Mapping[str, object]] = [USER, call("c1"), NEXT, ANSWER]


def body(messages: Sequence[Mapping[str, object]]) -> bytes:
    return json.dumps(messages).encode()


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_one_file(run, tmp_path, orphan):
    source, out = tmp_path / "a.json", tmp_path / "b.json"
    source.write_bytes(orphan)
    ran = run("repair", source, "-o", out, "--json")
    assert (ran.status, ran.err) == (0, "")
    (record,) = ran.records
    (done,) = record.pop("repairs")
    assert record == {
        "path": str(source),
        "index": 0,
        "id": None,
        "format": "openai.chat",
        "status": "repaired",
        "reason": None,
        "text": "",
        "findings": 0,
        "output": str(out),
    }
    assert list(done) == ["code", "action", "message", "message_after", "block", "call_id", "text"]
    assert (done["code"], done["action"], done["message"], done["message_after"], done["call_id"]) == (
        "orphan_result",
        "drop",
        2,
        None,
        "c1",
    )
    before = json.loads(orphan)
    assert json.loads(out.read_bytes()) == [before[0], before[1], before[3]]
    assert source.read_bytes() == orphan


def test_a_clean_file_is_copied_byte_for_byte(run, tmp_path, clean):
    source, out = tmp_path / "a.json", tmp_path / "b.json"
    odd = b"\n " + clean.replace(b'": ', b'" :\t') + b"\r\n\n"
    source.write_bytes(odd)
    (record,) = run("repair", source, "-o", out, "--json").records
    assert (record["status"], record["repairs"], record["findings"]) == ("clean", [], 0)
    assert out.read_bytes() == odd


def test_what_is_not_touched_keeps_its_bytes(run, tmp_path):
    odd = '{"role" :"user","content":"caf\\u00e9 1.50" , "x": [1.50, 1e2]}'
    source, out = tmp_path / "a.json", tmp_path / "b.json"
    source.write_text(f'{{"model": "gpt-4o",  "messages": [{odd}, {json.dumps(result("gone"))}], "x_unknown": 1.0}}')
    assert run("repair", source, "-o", out).status == 0
    assert odd in out.read_text()
    assert json.loads(out.read_text())["x_unknown"] == 1.0
    assert '"x_unknown": 1.0' in out.read_text()
    assert len(json.loads(out.read_text())["messages"]) == 1


def test_what_only_the_author_can_know_is_counted(run, tmp_path):
    source, out = tmp_path / "a.json", tmp_path / "b.json"
    late = {"role": "system", "content": "Late rule."}
    request = {"model": "m", "max_tokens": 9, "messages": [ANSWER, {"role": "user", "content": "  "}, late]}
    source.write_bytes(json.dumps(request).encode())
    ran = run("repair", source, "-o", out, "--format", "anthropic.messages", "--json")
    assert ran.status == 0
    (record,) = ran.records
    (scanned,) = run("scan", out, "--format", "anthropic.messages", "--json").records
    assert record["findings"] == len(scanned["findings"]) > 0
    assert record["status"] == "repaired"
    assert "blank_text" not in {finding["code"] for finding in scanned["findings"]}


def test_the_output_is_clean_when_repaired_again(run, tmp_path, orphan):
    first, second, third = tmp_path / "1.json", tmp_path / "2.json", tmp_path / "3.json"
    first.write_bytes(orphan)
    run("repair", first, "-o", second)
    (record,) = run("repair", second, "-o", third, "--json").records
    assert record["status"] == "clean"
    assert third.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ([], [USER, call("c1"), {"role": "tool", "tool_call_id": "c1", "content": MADE_UP}, NEXT, ANSWER]),
        (
            ["--unanswered", "synthesize"],
            [USER, call("c1"), {"role": "tool", "tool_call_id": "c1", "content": MADE_UP}, NEXT, ANSWER],
        ),
        (["--unanswered", "drop"], [USER, NEXT, ANSWER]),
    ],
)
def test_unanswered(run, way, expected):
    ran = run("repair", "-", "-o", "-", *way, stdin=body(ABANDONED))
    assert ran.status == 0
    assert json.loads(ran.out) == expected


def test_unanswered_takes_no_other_word(run, tmp_path, clean):
    (tmp_path / "a.json").write_bytes(clean)
    ran = run("repair", tmp_path / "a.json", "-o", tmp_path / "b.json", "--unanswered", "guess")
    assert (ran.status, ran.out, "synthesize" in ran.err) == (2, "", True)
    assert not (tmp_path / "b.json").exists()


def test_awaited_calls_stay(run):
    messages: list[Mapping[str, object]] = [USER, call("c1"), NEXT, call("c2"), NEXT, call("c3"), NEXT]
    ran = run("repair", "-", "-o", "-", "--pending", "c1", "--pending", "c3", "--json", stdin=body(messages))
    assert ran.status == 0
    after = json.loads(ran.out)
    assert [message.get("tool_call_id") for message in after if message["role"] == "tool"] == ["c2"]
    (record,) = [json.loads(line) for line in ran.err.splitlines()]
    assert [(r["action"], r["call_id"]) for r in record["repairs"]] == [("synthesize", "c2")]


def test_a_folder_is_mirrored_and_a_broken_file_reported(run, tmp_path, orphan, clean):
    source, out = tmp_path / "in", tmp_path / "out"
    (source / "deep/er").mkdir(parents=True)
    (source / "1.json").write_bytes(orphan)
    (source / "2.json").write_bytes(orphan[:-20])
    (source / "deep/er/3.jsonl").write_bytes(orphan + b"\n" + clean + b"\n")
    (source / "deep/4.json.gz").write_bytes(gzip.compress(orphan))
    ran = run("repair", source, "-o", out, "--json")
    assert ran.status == 1
    assert ran.err.count("\n") == 1
    assert f"{source}/2.json[0]" in ran.err
    assert files(out) == ["1.json", "deep/4.json.gz", "deep/er/3.jsonl"]
    assert [r["status"] for r in ran.records] == ["repaired", "failed", "repaired", "repaired", "clean"]
    (failed,) = [r for r in ran.records if r["status"] == "failed"]
    assert (failed["repairs"], failed["findings"], failed["output"], failed["format"]) == ([], None, None, None)
    assert failed["reason"] in ran.err or failed["text"] in ran.err
    assert gzip.decompress((out / "deep/4.json.gz").read_bytes()) == (out / "1.json").read_bytes()


def test_lines_stay_where_they_stood(run, tmp_path, orphan, clean):
    source, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    source.write_bytes(clean + b"\n \r\n{torn\n" + orphan + b"\r\n" + clean)
    ran = run("repair", source, "-o", out, "--json")
    assert ran.status == 1
    written = out.read_bytes().split(b"\n")
    assert written[:3] == [clean, b" \r", b""]
    assert written[3].endswith(b"\r")
    assert len(Transcript.from_json(written[3])) == 3
    assert written[4:] == [clean]
    assert [(r["index"], r["status"]) for r in ran.records] == [
        (0, "clean"),
        (2, "failed"),
        (3, "repaired"),
        (4, "clean"),
    ]


def test_a_file_in_which_all_fail_is_not_written(run, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"{\n[\n")
    assert run("repair", tmp_path / "a.jsonl", "-o", tmp_path / "out").status == 1
    assert not (tmp_path / "out/a.jsonl").exists()


def test_a_missing_file_fails_and_the_others_are_repaired(run, tmp_path, orphan):
    (tmp_path / "a.json").write_bytes(orphan)
    ran = run("repair", tmp_path / "none.json", tmp_path / "a.json", "-o", tmp_path / "out")
    assert ran.status == 1
    assert ran.err.count("\n") == 1
    assert "none.json" in ran.err
    assert files(tmp_path / "out") == ["a.json"]


def test_stdin_and_stdout(run, tmp_path, orphan):
    ran = run("repair", "-", "-o", "-", stdin=orphan)
    assert ran.status == 0
    assert scan(Transcript.from_json(ran.out.encode())).ok
    assert ran.err == "turnfold: -[0]: repaired, 1 repair\n"
    with_records = run("repair", "-", "-o", "-", "--json", stdin=(orphan + b"\n") * 2)
    assert [json.loads(line)["index"] for line in with_records.err.splitlines()] == [0, 1]
    assert with_records.out.count("\n") == 2
    run("repair", "-", "-o", tmp_path / "out", stdin=orphan)
    assert (tmp_path / "out/stdin.json").read_text() == ran.out


def test_people_see_what_was_done(run, tmp_path, orphan):
    (tmp_path / "a.json").write_bytes(orphan)
    heading, row, done = run("repair", tmp_path / "a.json", "-o", tmp_path / "b.json").out.splitlines()
    assert heading.split() == ["transcript", "format", "repairs", "findings", "left", "result"]
    assert row.split()[1:] == ["openai.chat", "1", "0", "repaired"]
    assert done.startswith("  orphan_result: message 2, call c1: ")


def test_a_log_that_needs_repair_is_copied_and_named(run, tmp_path):
    lines = SESSION.read_bytes().splitlines(keepends=True)
    broken = b"".join(line for line in lines if b'"tool_result"' not in line)
    assert broken != SESSION.read_bytes()
    source, out = tmp_path / "session.jsonl", tmp_path / "copy.jsonl"
    source.write_bytes(broken)
    ran = run("repair", source, "-o", out, "--json")
    assert (ran.status, ran.err) == (0, "")
    skipped = [r for r in ran.records if r["status"] == "skipped"]
    assert skipped
    for record in skipped:
        assert (record["reason"], bool(record["text"]), bool(record["repairs"])) == ("not_writable", True, True)
        assert record["findings"] > 0
    assert out.read_bytes() == broken


def test_a_clean_log_is_copied(run, tmp_path):
    ran = run("repair", SESSION, "-o", tmp_path / "out", "--json")
    assert ran.status == 0
    assert {r["status"] for r in ran.records} == {"clean"}
    assert (tmp_path / "out" / SESSION.name).read_bytes() == SESSION.read_bytes()


def refused(run, *arguments: object) -> str:
    ran = run("repair", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    return str(ran.err)


def test_the_input_is_never_overwritten(run, tmp_path, orphan):
    folder = tmp_path / "in"
    folder.mkdir()
    source = folder / "a.json"
    source.write_bytes(orphan)
    assert "overwrite" in refused(run, source, "-o", source)
    assert "overwrite" in refused(run, source, "-o", folder)
    assert "overwrite" in refused(run, folder, "-o", folder)
    (tmp_path / "link.json").symlink_to(source)
    assert "overwrite" in refused(run, source, "-o", tmp_path / "link.json")
    os.link(source, tmp_path / "hard.json")
    assert "overwrite" in refused(run, source, "-o", tmp_path / "hard.json")
    assert source.read_bytes() == orphan
    assert files(folder) == ["a.json"]


def test_out_must_be_given(run, tmp_path, clean):
    (tmp_path / "a.json").write_bytes(clean)
    ran = run("repair", tmp_path / "a.json")
    assert (ran.status, ran.out, "-o" in ran.err) == (2, "", True)


def test_a_failed_write_leaves_the_old_file(run, tmp_path, orphan, monkeypatch):
    source, out = tmp_path / "a.json", tmp_path / "b.json"
    source.write_bytes(orphan)
    out.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ran = run("repair", source, "-o", out, "--json")
    assert (ran.status, "No space left on device" in ran.err) == (1, True)
    assert out.read_text() == "old"
    assert ran.records[-1]["status"] == "failed"
