"""Recorded transcripts, where a folder of them lies beside the checkout: each one is read, counted and compacted."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORPUS = ROOT.parent / "shared/corpus"


@pytest.mark.parametrize("sample", [["--every", "60", "--largest", "100000"], pytest.param([], marks=pytest.mark.soak)])
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the checkout")
def test_every_preset_keeps_its_promises(sample: list[str]) -> None:
    command = [sys.executable, str(ROOT / "benches/presets.py"), str(CORPUS), *sample]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    assert done.stdout.rstrip().endswith(" 0 failures")


@pytest.mark.soak
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the checkout")
def test_recorded_transcripts_survive() -> None:
    command = [sys.executable, str(ROOT / "benches/corpus.py"), str(CORPUS), "--share", "0.5", "--keep-messages", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    assert done.stdout.rstrip().endswith(" 0 failures")
