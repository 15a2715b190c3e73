"""The bundled transcripts: clean, but for the one that is there to be broken, and made by the script beside them.

And logs as agents leave them, from the tests of the containers: read without loss, compacted, written, read again.
"""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import turnfold.checks
from turnfold import CompactionResult, KeepMessages, OnRequest, Policy, Summarize, compact_sync
from turnfold.containers import read_log
from turnfold.containers.log import says
from turnfold.presets import priority_trim
from turnfold.transcript import Transcript

SAMPLES = Path(__file__).parents[1] / "samples"
FILES = sorted(p for p in SAMPLES.rglob("*") if p.suffix in (".json", ".jsonl", ".gz"))
LOGS = Path(__file__).parent / "containers" / "samples"
NAMED = {
    name: name.split(".")[0].split("-")[0]
    for line in (SAMPLES / "README.md").read_text(encoding="utf-8").split("\n")
    if line.startswith("| `") and (name := line.split("`")[1]) and (LOGS / name).is_file()
}
"""The logs that samples/README.md tells of, with the kind of each."""


def a_summary(_: Transcript) -> Policy:
    return Policy(OnRequest(), (Summarize(KeepMessages(2)),))


def dropped(transcript: Transcript) -> Policy:
    return replace(priority_trim(limit_tokens=max(1, transcript.tokens().n // 2)), trigger=OnRequest())


def bodies(path: Path) -> list[bytes]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [line for line in data.split(b"\n") if line] if ".jsonl" in path.name else [data]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_scan(path):
    for body in bodies(path):
        transcript = Transcript.from_json(body)
        report = turnfold.checks.scan(transcript)
        assert transcript.to_json() == body
        assert report.ok == (path.parent.name != "dirty")


def test_they_differ_in_what_matters():
    transcripts = [Transcript.from_json(body) for path in FILES for body in bodies(path)]
    assert {t.format for t in transcripts} == {
        "anthropic.messages",
        "bedrock.converse",
        "gemini.contents",
        "mistral.chat",
        "openai.chat",
        "openai.responses",
    }
    assert max(map(len, transcripts)) > 200
    assert min(map(len, transcripts)) < 10
    kinds = {block.kind for t in transcripts for index in range(len(t)) for block in t.blocks(index)}
    assert {"text", "tool_call", "tool_result", "reasoning", "media"} <= kinds
    assert {bool(json.loads(body)) and isinstance(json.loads(body), list) for p in FILES for body in bodies(p)} == {
        True,
        False,
    }
    assert sum(path.stat().st_size for path in FILES) < 2_000_000


@pytest.mark.slow
@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11) or sys.platform == "win32", reason="words of Python 3.11's tracebacks"
)
def test_the_script_makes_the_same_bytes(tmp_path):
    subprocess.run([sys.executable, SAMPLES / "make.py", tmp_path], check=True, capture_output=True)
    for path in FILES:
        assert (tmp_path / path.relative_to(SAMPLES)).read_bytes() == path.read_bytes(), path.name


def test_each_kind_of_log_has_a_sample():
    assert set(NAMED.values()) >= {
        "claude_code",
        "cline",
        "codex",
        "gemini_cli",
        "inspect",
        "mini_swe_agent",
        "opencode",
        "openhands_v0",
        "openhands_v1",
        "opentelemetry",
        "pi",
        "sharegpt",
        "swe_agent",
        "tau2",
        "tau_bench",
    }


@pytest.mark.parametrize("how", [a_summary, dropped])
@pytest.mark.parametrize("name", NAMED)
def test_a_log_is_read_compacted_and_written(name: str, how: Callable[[Transcript], Policy]):
    data = (LOGS / name).read_bytes()
    log = read_log(data)
    assert log.container == NAMED[name]
    assert log.write() == data
    before = {logged.id: errors(logged.transcript) for logged in log.transcripts}
    made = {logged.id: compact_sync(logged.transcript, how(logged.transcript)) for logged in log.transcripts}
    results = {identifier: result for identifier, result in made.items() if isinstance(result, CompactionResult)}
    if (name, how) == ("cline.messages.json", dropped):
        assert not results  # all its calls are among the latest, which stay
        return
    assert results
    assert not any(before[identifier] for identifier in results)
    written = log.write(results)
    assert written != data
    again = read_log(written)
    assert again.container == log.container
    assert [logged.id for logged in again.transcripts] == [logged.id for logged in log.transcripts]
    for logged in again.transcripts:
        assert errors(logged.transcript) == before[logged.id]
        if logged.id in results:
            assert says(logged.transcript) == says(results[logged.id].transcript)
            assert logged.transcript.tokens().n < results[logged.id].before.n


def errors(transcript: Transcript) -> set[str]:
    return {finding.code for finding in turnfold.checks.scan(transcript).findings if finding.severity == "error"}
