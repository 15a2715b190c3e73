"""Logs of agents on the command line: detected, read, cut and compacted like bodies, each transcript by its id."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from turnfold.cli.compaction import _written
from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.errors import NotWritableError
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parents[1] / "containers" / "samples"
SESSION = SAMPLES / "claude_code.jsonl"
DATA_SET = SAMPLES / "sharegpt.json"


@pytest.fixture
def ids() -> list[str]:
    return ["5e551011-0000-4000-8000-00000000000a", "a1b2c3d"]


@pytest.mark.parametrize("command", ["count", "scan", "split"])
def test_each_transcript_of_a_log_is_a_record_with_its_id(run, command, ids):
    ran = run(command, SESSION, "--json")
    assert ran.status == 0
    assert bool(ran.err) == (command == "scan")
    assert [(r["path"], r["index"], r["id"]) for r in ran.records] == [(str(SESSION), k, i) for k, i in enumerate(ids)]
    assert {r["format"] for r in ran.records} == {"anthropic.messages"}


def test_a_log_is_told_behind_lines_of_megabytes(run, tmp_path, ids):
    session = tmp_path / "session.jsonl"
    long = json.dumps({"type": "note", "text": "x" * 1_500_000}).encode() + b"\n"
    session.write_bytes(2 * long + SESSION.read_bytes())
    assert [record["id"] for record in run("count", session, "--json").records] == ids


def test_scan_says_which_lines_of_a_log_are_not_read(run, tmp_path):
    data = SESSION.read_bytes()
    assert run("scan", SESSION).err == (
        f"turnfold: {SESSION}: line 1 is no JSON object, and so is one more: passed over here, and kept where the log "
        "is written; where the file was cut, copy it again\n"
    )
    whole = [line for line in data.split(b"\n") if line.startswith(b"{") and line.endswith(b"}")]
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"\n".join(whole))
    assert run("scan", cut).err == ""
    cut.write_bytes(b"\n".join(whole)[:-9])
    ran = run("scan", cut)
    assert (ran.status, ran.err.count("\n")) == (0, 1)
    assert f"line {len(whole)} is no JSON object: passed over" in ran.err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("command", ["scan", "count", "compact"])
def test_a_log_of_another_encoding_is_one_fault(run, tmp_path, command, encoding):
    session = tmp_path / "session.jsonl"
    session.write_bytes(SESSION.read_bytes().decode().encode(encoding))
    out = tmp_path / "out.jsonl"
    ran = run(command, session, *(("-o", out) if command == "compact" else ()))
    assert ran.status in {1, 2}
    assert ran.err.count("\n") == 1
    assert f"{session}[0]: " in ran.err
    assert not out.exists()


def test_people_see_the_id(run, ids):
    out = run("split", SESSION).out
    assert f"{SESSION}#{ids[1]}  anthropic.messages, 4 messages" in out


def test_stdin_and_gzip_and_odd_names_are_logs_too(run, tmp_path, ids):
    data = SESSION.read_bytes()
    packed = tmp_path / "session.jsonl.gz"
    packed.write_bytes(gzip.compress(data))
    (tmp_path / "session.log").write_bytes(data)
    for ran in (
        run("count", "-", "--json", stdin=data),
        run("count", packed, "--json"),
        run("count", tmp_path / "session.log", "--json"),
    ):
        assert [r["id"] for r in ran.records] == ids


def test_a_named_container_must_fit(run):
    ran = run("count", DATA_SET, "--container", "claude_code")
    assert ran.status == 2
    assert "no log of kind claude_code" in ran.err
    assert ran.err.count("\n") == 1
    ran = run("count", DATA_SET, "--container", "nothing")
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert "claude_code, " in ran.err
    assert run("count", DATA_SET, "--container", "sharegpt").status == 0


def test_a_format_or_a_container_but_not_both(run):
    ran = run("count", DATA_SET, "--container", "sharegpt", "--format", "openai.chat")
    assert (ran.status, ran.out) == (2, "")


def test_a_named_format_says_that_it_is_a_body(run):
    ran = run("count", DATA_SET, "--format", "openai.chat")
    assert ran.status == 2


def test_bodies_stay_bodies(run, tmp_path, clean):
    lines = tmp_path / "bodies.jsonl"
    lines.write_bytes(clean + b"\n\n" + clean + b"\n")
    ran = run("count", lines, "--json")
    assert [(r["index"], r["id"]) for r in ran.records] == [(0, None), (2, None)]


def test_a_log_is_compacted_in_its_own_form(run, tmp_path, ids):
    out = tmp_path / "out.jsonl"
    ran = run("compact", SESSION, "-o", out, "--limit-tokens", 900, "--keep-messages", 2, "--json")
    assert (ran.status, ran.err) == (0, "")
    assert [(r["id"], r["status"], r["reason"]) for r in ran.records] == [
        (ids[0], "compacted", None),
        (ids[1], "skipped", "under_trigger"),
    ]
    written = out.read_bytes()
    assert written.count(b"isCompactSummary") == 1
    assert all(line in written for line in SESSION.read_bytes().split(b"\n")[:30])
    again = run("count", out, "--json").records
    assert [r["id"] for r in again] == ids
    assert again[0]["tokens"]["n"] == ran.records[0]["tokens"]["after"]


def test_out_with_the_suffix_of_the_log_is_a_file(run, tmp_path):
    log = tmp_path / "history.md"
    log.write_bytes((SAMPLES / "aider.md").read_bytes())
    ran = run("compact", log, "-o", tmp_path / "short.md", "--now", "--keep-messages", 2)
    assert (ran.status, ran.err) == (0, "")
    assert (tmp_path / "short.md").is_file()
    assert run("count", tmp_path / "short.md").status == 0
    run("compact", log, "-o", tmp_path / "folder", "--now")
    assert (tmp_path / "folder" / "history.md").is_file()


def test_a_log_without_anything_to_compact_is_written_as_it_is(run, tmp_path):
    out = tmp_path / "out.jsonl"
    assert run("compact", SESSION, "-o", out, "--limit-tokens", 90_000).status == 0
    assert out.read_bytes() == SESSION.read_bytes()


def test_a_log_goes_to_stdout_under_its_kind_of_name(run, tmp_path):
    ran = run("compact", "-", "-o", tmp_path, "--limit-tokens", 90_000, stdin=DATA_SET.read_bytes())
    assert ran.status == 0
    assert (tmp_path / "stdin.json").read_bytes() == DATA_SET.read_bytes()


def test_what_a_log_cannot_hold_stays_in_it(run, tmp_path):
    """A sub-agent that stands in `progress` records only has its log elsewhere."""
    lines = [json.loads(line) for line in SESSION.read_text(encoding="utf-8").split("\n")[1:4]]
    for k in range(9):
        message = {"role": ("user", "assistant")[k % 2], "content": f"Part {k}. " + "The tide table says more. " * 40}
        said = {"type": message["role"], "message": message, "uuid": f"q{k}"}
        embedded = {"type": "agent_progress", "agentId": "feed5", "message": said}
        lines.append({"type": "progress", "data": embedded, "uuid": f"p{k}", "parentUuid": "u1", "sessionId": "x"})
    log = tmp_path / "in.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = run("compact", log, "-o", tmp_path / "out.jsonl", "--limit-tokens", 1500, "--keep-messages", 2, "--json")
    assert ran.status == 0
    assert [(r["id"], r["reason"]) for r in ran.records][1:] == [("feed5", "not_writable")]
    assert "`progress` records only" in ran.records[1]["text"]
    assert (tmp_path / "out.jsonl").read_bytes() == log.read_bytes()


def test_a_log_keeps_its_reasoning_whatever_its_model_would_refuse(run, tmp_path):
    lines = []
    for k in range(9):
        text = f"Part {k}. " + "The tide table says more. " * 40
        role = ("user", "assistant")[k % 2]
        thought = {"type": "thinking", "thinking": f"Weigh {k}.", "signature": f"s{k}"}
        content = text if role == "user" else [thought, {"type": "text", "text": text}]
        message = {"role": role, "content": content, "model": "claude-fable-5-1"}
        chain = {"uuid": f"u{k}", "parentUuid": f"u{k - 1}" if k else None, "sessionId": "x"}
        lines.append({"type": role, "message": message, **chain})
    log = tmp_path / "in.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = run("compact", log, "-o", tmp_path / "out.jsonl", "--limit-tokens", 2400, "--keep-messages", 3, "--json")
    assert [(r["status"], r["reason"]) for r in ran.records] == [("compacted", None)]
    written = (tmp_path / "out.jsonl").read_text()
    assert [f'"signature": "s{k}"' in written for k in (5, 7)] == [True, True]


def test_results_that_a_log_cannot_hold_cost_few_writes_of_it(monkeypatch):
    """Each is found by halving; what is held stays held."""
    said = [{"role": role, "content": f"{role} says: " + "The tide. " * 200} for role in ("user", "assistant") * 3]
    line = json.dumps({"messages": said}).encode() + b"\n"
    log = read_log(line * 64, container="bodies")
    policy = Policy(OnRequest(), (Summarize(KeepMessages(1)),))
    done = {t.id: compact_sync(t.transcript, policy) for t in log.transcripts}
    results = {name: result for name, result in done.items() if isinstance(result, CompactionResult)}
    assert len(results) == 64
    bad = {log.transcripts[5].id, log.transcripts[40].id}
    real, writes = Log.write, []

    def write(self, given=None):
        writes.append(set(given or {}))
        if bad & set(given or {}):
            raise NotWritableError("no place for this one")
        return real(self, given)

    monkeypatch.setattr(Log, "write", write)
    body, refused = _written(log, results)
    assert set(refused) == bad
    assert len(writes) < 30
    assert body == real(log, {name: result for name, result in results.items() if name not in bad})


def test_a_cassette_without_a_yaml_parser_says_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    cassette = tmp_path / "in.json"
    cassette.write_text("interactions: []\n")
    ran = run("count", cassette, "--container", "http_cassette")
    assert ran.status == 2
    assert "pip install 'turnfold[yaml]'; install the named package and run the command again" in ran.err
