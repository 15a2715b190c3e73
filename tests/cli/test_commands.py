"""count, scan, split and prefix: records, tables, exit statuses."""

import json
import os
import shlex
import subprocess
import sys

import pytest

import turnfold.meter


@pytest.fixture
def file(tmp_path, clean):
    path = tmp_path / "clean.json"
    path.write_bytes(clean)
    return path


def test_count_record(run, file):
    (record,) = run("count", file, "--json").records
    tokens = record["tokens"]
    assert list(record) == ["path", "index", "id", "format", "messages", "tokens", "encoding"]
    assert (record["format"], record["messages"], record["encoding"]) == ("openai.chat", 6, "o200k_base")
    assert list(tokens) == ["n", "lo", "hi", "source"]
    assert 0 < tokens["lo"] <= tokens["n"] <= tokens["hi"]


def test_count_takes_an_encoding_or_a_model(run, file):
    assert run("count", file, "--json", "--encoding", "cl100k_base").records[0]["encoding"] == "cl100k_base"
    assert run("count", file, "--json", "--model", "gpt-4").records[0]["encoding"] == "cl100k_base"
    ran = run("count", file, "--encoding", "p49k")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_count_takes_the_path_of_a_tokenizer_json(run, file, tmp_path, byte_level):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(byte_level))
    (record,) = run("count", file, "--json", "--by-message", "--encoding", str(path)).records
    assert record["by_message"][1]["blocks"] == [len("List the services.")]
    del byte_level["pre_tokenizer"]
    path.write_text(json.dumps(byte_level))
    ran = run("count", file, "--encoding", str(path))
    assert (ran.status, ran.out) == (2, "")
    assert "pre_tokenizer" in ran.err


def test_count_by_message(run, file):
    (record,) = run("count", file, "--json", "--by-message").records
    by_message = record["by_message"]
    assert [entry["message"] for entry in by_message] == list(range(6))
    assert [entry["role"] for entry in by_message] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert by_message[1]["blocks"] == [turnfold.meter.count("List the services.")]
    assert by_message[3]["blocks"] == [turnfold.meter.count("api, worker")]
    assert sum(entry["tokens"]["n"] for entry in by_message) <= record["tokens"]["n"]


def test_count_table(run, file):
    ran = run("count", file)
    heading, row = ran.out.splitlines()
    assert heading.split()[0] == "transcript"
    assert "openai.chat" in row
    assert len(run("count", file, "--by-message").out.splitlines()) == 8


def test_scan_record_of_a_clean_one(run, file):
    ran = run("scan", file, "--json")
    assert ran.status == 0
    (record,) = ran.records
    assert list(record) == ["path", "index", "id", "format", "ok", "pairs", "pending", "findings", "unknown_kinds"]
    assert (record["ok"], record["pairs"], record["pending"]) == (True, 1, [])


def test_scan_of_an_orphan(run, tmp_path, orphan):
    path = tmp_path / "orphan.json"
    path.write_bytes(orphan)
    ran = run("scan", path, "--json")
    assert ran.status == 1
    (record,) = ran.records
    errors = [finding for finding in record["findings"] if finding["severity"] == "error"]
    assert not record["ok"]
    assert errors[0]["message"] == 2
    assert errors[0]["call_id"] == "c1"
    assert errors[0]["rule"] == "OC-1"
    assert {"code", "severity", "message", "block", "call_id", "text"} <= set(errors[0])
    assert errors[0]["code"] in run("scan", path).out


def test_scan_says_unreadable_before_broken(run, tmp_path, orphan):
    (tmp_path / "1.json").write_bytes(orphan)
    (tmp_path / "2.json").write_bytes(b"{")
    assert run("scan", tmp_path).status == 2


def test_split_lists_and_chooses(run, file):
    (record,) = run("split", file, "--json").records
    assert record["splits"] == [1, 2, 4, 5, 6]
    assert record["chosen"] is None
    (record,) = run("split", file, "--json", "--at", "3").records
    chosen = record["chosen"]
    assert (chosen["index"], chosen["requested"]) == (2, 3)
    assert chosen["moved_by"][0]["call_id"] == "c1"
    (record,) = run("split", file, "--json", "--keep-messages", "3").records
    assert (record["chosen"]["index"], record["chosen"]["requested"]) == (2, 3)
    assert run("split", file, "--json", "--keep-messages", "0").records[0]["chosen"]["index"] == 6
    assert run("split", file, "--json", "--keep-turns", "1").records[0]["chosen"]["index"] == 5
    assert run("split", file, "--json", "--keep-tokens", "1000000").records[0]["chosen"]["index"] == 1


def test_split_for_people(run, file):
    out = run("split", file, "--at", "3").out
    assert "legal cuts: 1-2, 4-6" in out
    assert "chosen: 2 (asked: 3)" in out


def test_split_outside(run, file):
    ran = run("split", file, "--at", "7")
    assert (ran.status, ran.err.count("\n")) == (2, 1)


def test_split_where_there_is_none(run, tmp_path):
    path = tmp_path / "thinking.json"
    body = {
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "Solve it."}],
    }
    path.write_bytes(json.dumps(body).encode())
    ran = run("split", path, "--format", "anthropic.messages", "--json", "--keep-messages", "0")
    assert ran.status in (0, 1)
    assert (ran.status == 1) == (ran.records[0]["chosen"] is None)


def test_prefix_of_an_append(run, tmp_path, clean):
    longer = [*json.loads(clean), {"role": "assistant", "content": "Done."}]
    (tmp_path / "a.json").write_bytes(clean)
    (tmp_path / "b.json").write_bytes(json.dumps(longer).encode())
    ran = run("prefix", tmp_path / "a.json", tmp_path / "b.json", "--json")
    assert ran.status == 0
    (record,) = ran.records
    assert list(record)[:4] == ["bytes", "messages", "tokens", "first_difference"]
    assert (record["messages"], record["first_difference"], record["before_is_prefix"]) == (6, None, True)


def test_prefix_names_the_first_difference(run, tmp_path, clean):
    other = json.loads(clean)
    other[3]["content"] = "api only"
    (tmp_path / "a.json").write_bytes(clean)
    (tmp_path / "b.json").write_bytes(json.dumps(other).encode())
    (record,) = run("prefix", tmp_path / "a.json", tmp_path / "b.json", "--json").records
    assert record["messages"] == 3
    assert record["first_difference"]["message"] == 3
    assert record["first_difference"]["path"].startswith("messages[3]")
    assert "messages[3]" in run("prefix", tmp_path / "a.json", tmp_path / "b.json").out


def test_prefix_of_folders_goes_by_name(run, tmp_path, clean):
    for folder, names in {"a": ["1.json", "2.json"], "b": ["2.json", "3.json"]}.items():
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_bytes(clean)
    ran = run("prefix", tmp_path / "a", tmp_path / "b", "--json")
    assert ran.status == 2
    assert [record["before"]["path"][-6:] for record in ran.records] == ["2.json"]
    assert ran.err.count("\n") == 2


def test_prefix_of_lines_and_one_too_many(run, tmp_path, clean):
    line = json.dumps(json.loads(clean)).encode() + b"\n"
    (tmp_path / "a.jsonl").write_bytes(line * 3)
    (tmp_path / "b.jsonl").write_bytes(line * 2)
    ran = run("prefix", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--json")
    assert (ran.status, len(ran.records)) == (2, 2)
    assert "no transcript to compare" in ran.err
    assert run("prefix", "-", tmp_path / "b.jsonl", "--json", stdin=line * 2).status == 0


@pytest.mark.parametrize("value", ["9" * 30, "9" * 5_000])
@pytest.mark.parametrize("option", ["--keep-messages", "--keep-turns", "--keep-tokens", "--at"])
def test_a_number_of_any_size_is_answered(run, file, option, value):
    ran = run("split", file, option, value)
    assert ran.status in (0, 2)
    if len(value) < 4_000 and option != "--at":
        assert (ran.status, "chosen: " in ran.out) == (0, True)


def test_what_is_no_number_says_so(run, file):
    ran = run("split", file, "--keep-messages", "x")
    assert ran.status == 2
    assert ran.err.startswith(
        "turnfold split: argument --keep-messages: 'x' is not a whole number; see 'turnfold split"
    )


@pytest.mark.parametrize("option", ["--encoding", "--model", "--format"])
def test_a_name_that_is_not_utf8_is_a_name_that_nothing_has(run, file, option):
    ran = run("count", file, option, os.fsdecode(b"\xff"))
    assert ran.status == (0 if option == "--model" else 2)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_traceback(tmp_path, clean, closed):
    (tmp_path / "a.json").write_bytes(clean)
    line = f"{shlex.quote(sys.executable)} -m turnfold count a.json - {closed}"
    ran = subprocess.run(["sh", "-c", line], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (ran.returncode, b"Traceback" in ran.stderr) == (2, False)
