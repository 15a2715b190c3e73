"""Upper bounds of what parts of a request count, in one encoding."""

from turnfold import meter
from turnfold.model.counts import TokenCount
from turnfold.transcript import Transcript


class Measure:
    """Counts of one transcript in one encoding. Every number is an upper bound: exact where the format is."""

    __slots__ = ("_empty", "_transcript", "encoding", "fixed_tokens", "whole")

    def __init__(self, transcript: Transcript, encoding: str) -> None:
        self._transcript = transcript
        self._empty = transcript.splice([])
        self.encoding = encoding
        self.whole: TokenCount = transcript.tokens(encoding=encoding)
        # Tools, system text beside the messages, reply priming: what no step touches.
        self.fixed_tokens = self.whole.hi - self.messages(0, len(transcript))

    def messages(self, start: int, stop: int) -> int:
        """Bound what messages `[start, stop)` count. O(1) after the first count."""
        return self._transcript.tokens(start, stop, encoding=self.encoding).hi if start < stop else 0

    def new_message(self, message: bytes) -> int:
        """Bound what a new message counts."""
        return self._empty.append(message).tokens(0, 1, encoding=self.encoding).hi

    def new_text(self, role: str, text: str) -> int:
        """Bound what a new message of one text counts."""
        return self.new_message(self._transcript.text_message(role, text))

    def text(self, text: str) -> int:
        """Count plain text, exactly."""
        return meter.count(text, self.encoding)
