"""Oddities of mini-swe-agent trajectories: what stands beside a message, and what is none."""

from pathlib import Path

from turnfold.containers import read_log
from turnfold.containers.document import Document
from turnfold.containers.mini_swe_agent import MINI_SWE_AGENT

SAMPLES = Path(__file__).parent / "samples"


def test_what_is_noted_beside_a_message_is_not_counted():
    log = read_log((SAMPLES / "mini_swe_agent.json").read_bytes())
    plain = read_log((SAMPLES / "mini_swe_agent-list.json").read_bytes())
    count = len(plain.transcripts[0].transcript)
    full = log.transcripts[0].transcript
    assert full.tokens(0, count).n == plain.transcripts[0].transcript.tokens(0, count).n
    assert log.transcripts[0].id == "station__gauge-7"
    assert full.model == "small-model-1"


def test_the_exit_is_no_message():
    log = read_log((SAMPLES / "mini_swe_agent.json").read_bytes())
    assert log.unread == {"message of role exit": 1}


def test_results_by_text_alone_are_the_weaker_mark():
    told = b'[{"role":"user","content":"<returncode>0</returncode>"}]'
    mark = MINI_SWE_AGENT.recognise(Document(told))
    assert mark is not None
    assert mark.strength == "usual"
    assert MINI_SWE_AGENT.recognise(Document(b'[{"role":"user","content":"hello"}]')) is None
