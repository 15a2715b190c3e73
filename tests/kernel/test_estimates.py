"""Estimates: near the count, in any vocabulary, told from counts by their source."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnfold

PROSE = "The harbour office moves the meeting to Thursday, because two of the reports have not come in yet. "
CODE = "    def read(self, path: str) -> bytes:\n        return self._store.get(path, b'')[:4096]\n\n"
RUSSIAN = "Собрание перенесли на четверг, потому что два отчёта ещё не пришли. "
JAPANESE = "二つの報告書がまだ届いていないため、会議は木曜日に延期されました。"


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base", "o200k_harmony"])
@pytest.mark.parametrize("line", [PROSE, CODE, RUSSIAN, JAPANESE])
def test_an_estimate_is_near(line: str, encoding: str) -> None:
    text = line * 20
    exact = turnfold.count(text, encoding)
    found = turnfold.estimate(text, encoding)
    assert found.source == "estimate"
    assert found.lo <= found.n <= found.hi
    # One sentence over and over: what it is off by does not even out.
    assert abs(found.n - exact) < 0.13 * exact


@pytest.mark.parametrize("line", [PROSE, CODE, RUSSIAN, JAPANESE])
def test_a_registered_vocabulary_is_sampled(line: str) -> None:
    """No weights are made for it: bytes as tokens cost one to four times what the weights say."""
    tokens = (base64.b64encode(bytes([byte])) + b" %d" % byte for byte in range(256))
    turnfold.register_vocabulary("bytes_estimated", b"\n".join(tokens), pattern=r"\S+|\s+")
    text = line * 40
    exact = turnfold.count(text, "bytes_estimated")
    found = turnfold.estimate(text, "bytes_estimated")
    assert exact == len(text.encode())
    assert abs(found.n - exact) < 0.12 * exact


def test_a_short_text_is_counted() -> None:
    found = turnfold.estimate(PROSE)
    assert (found.lo, found.n, found.hi, found.source) == (*(turnfold.count(PROSE),) * 3, "estimate")


@given(st.text(max_size=400))
def test_any_text_has_one(text: str) -> None:
    found = turnfold.estimate(text)
    size = len(text.encode("utf-8", "replace"))
    assert 0 <= found.lo <= found.n <= found.hi <= 3 * size
    assert (found.n == 0) == (text == "")


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(turnfold.TurnfoldError):
        turnfold.estimate("text", "o300k")


@pytest.mark.parametrize("model", [None, "gpt-4o", "claude-sonnet-4-5", "some-open-model"])
def test_a_transcript_is_estimated(model: str | None) -> None:
    messages = [{"role": "user" if k % 2 == 0 else "assistant", "content": PROSE * (k + 1)} for k in range(10)]
    transcript = turnfold.Transcript.from_messages(messages)
    exact, found = transcript.tokens(model=model), transcript.tokens(model=model, mode="estimate")
    assert found.source == "estimate"
    assert found.lo <= exact.n <= found.hi
    assert abs(found.n - exact.n) < 0.1 * exact.n
    part = transcript.tokens(2, 5, model=model, mode="estimate")
    assert part.n < found.n
    with pytest.raises(turnfold.TurnfoldError):
        transcript.tokens(mode="guess")  # type: ignore[arg-type]
