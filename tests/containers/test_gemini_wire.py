"""Oddities of recorded answers: text in chunks, thoughts, calls without ids, methods that make no content."""

from pathlib import Path

from turnfold.containers import read_log

SAMPLE = (Path(__file__).parent / "samples" / "gemini_wire.jsonl").read_bytes()


def test_chunks_are_one_message():
    log = read_log(SAMPLE)
    transcript = log.transcripts[0].transcript
    assert log.transcripts[0].origins == ((0,), (2,), (3,), (4,))
    assert [block.kind for block in transcript.blocks(0)] == ["reasoning", "text", "tool_call", "tool_call"]
    assert [block.call_id for block in transcript.blocks(0) if block.kind == "tool_call"] == ["call_0", "g1"]
    assert transcript.blocks(0)[1].text.startswith("I look around.\n")
    assert transcript.model == "gemini-2.5-flash"


def test_answers_without_content_are_counted():
    assert read_log(SAMPLE).unread == {"countTokens": 1, "generateContentStream": 1}
