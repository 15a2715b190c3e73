"""The bundled transcripts: clean, but for the one that is there to be broken, and made by the script beside them."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

import turnfold.checks
from turnfold.transcript import Transcript

SAMPLES = Path(__file__).parents[1] / "samples"
FILES = sorted(p for p in SAMPLES.rglob("*") if p.suffix in (".json", ".jsonl", ".gz"))


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
