"""The files that options name: a journal, a report or an output never takes the place of another file."""

import json
import sqlite3
from pathlib import Path

import pytest

from turnfold.testing.generators import openai_chat

OPTIONS = ["--preset", "token_threshold", "--limit-tokens", "1200"]
DOCUMENTS = 20


@pytest.fixture
def inputs(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(openai_chat(seed)) + "\n" for seed in range(DOCUMENTS)))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_file_that_is_no_journal_is_left_alone(run, inputs, tmp_path):
    (tmp_path / "notes").write_text("my notes, " * 200)
    database = sqlite3.connect(tmp_path / "contacts.db")
    database.execute("CREATE TABLE contacts (name TEXT)")
    database.close()
    before = contents(tmp_path)
    for name in ("notes", "contacts.db"):
        for how in ("--resume", "--restart"):
            ran = run("batch", inputs, "-o", tmp_path / "out", "--journal", tmp_path / name, how, *OPTIONS)
            assert ran.status == 2
            assert "is no journal of a batch" in ran.err
            assert "--restart" not in ran.err
            assert contents(tmp_path) == before


def test_a_damaged_journal_is_begun_anew(run, inputs, tmp_path):
    command = ("batch", inputs, "-o", tmp_path / "out/", *OPTIONS)
    assert run(*command).status == 0
    journal = tmp_path / "out" / ".turnfold-journal"
    journal.write_bytes(journal.read_bytes()[:5000])
    refused = run(*command, "--resume")
    assert refused.status == 2
    assert "damaged" in refused.err
    assert "(--restart begins anew)" in refused.err
    assert run(*command, "--restart").status == 0
    assert f"{DOCUMENTS} documents were done before" in run(*command, "--resume").out


@pytest.mark.parametrize(
    ("option", "name", "told"),
    [
        ("--journal", "in.jsonl", "would overwrite the input"),
        ("--journal", "linked", "would overwrite the input"),
        ("--journal", "out/in.jsonl", "is the output of"),
        ("--journal", ".", "is a folder"),
        ("--report", "in.jsonl", "would overwrite the input"),
        ("--report", "out/in.jsonl", "is the output of"),
        ("--report", "out/.turnfold-journal", "is that of --journal"),
        ("--report", ".", "is a folder"),
    ],
)
def test_what_an_option_names_takes_no_other_place(run, inputs, tmp_path, option, name, told):
    (tmp_path / "linked").symlink_to("in.jsonl")
    before = contents(tmp_path)
    ran = run("batch", inputs, "-o", f"{tmp_path}/out/", option, tmp_path / name, "--restart", *OPTIONS)
    assert ran.status == 2
    assert told in ran.err
    assert contents(tmp_path) == before


def test_the_folder_of_a_report_is_made(run, inputs, tmp_path):
    ran = run("batch", inputs, "-o", tmp_path / "out", *OPTIONS, "--report", tmp_path / "reports" / "last.html")
    assert ran.status == 0
    assert (tmp_path / "reports" / "last.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_no_output_takes_the_place_of_what_an_option_reads(run, inputs, tmp_path, byte_level):
    plans = tmp_path / "plans.jsonl"
    plans.write_text(run("plan", inputs, "--limit-tokens", "1200").out)
    vocabulary = tmp_path / "tokenizer.jsonl"
    vocabulary.write_text(json.dumps(byte_level))
    before = contents(tmp_path)
    encoded = ("--encoding", vocabulary, *OPTIONS)
    for command in (
        ("apply", inputs, "--plan", plans, "-o", plans),
        ("compact", inputs, "-o", vocabulary, *encoded),
        ("batch", inputs, "-o", vocabulary, *encoded),
        ("batch", inputs, "-o", tmp_path / "out", "--report", vocabulary, *encoded),
    ):
        ran = run(*command)
        assert ran.status == 2
        assert "would overwrite the input" in ran.err
        assert contents(tmp_path) == before
