"""What parts of a request count, for one model, by the number that a limit is kept by."""

from collections.abc import Iterable

from turnfold import meter
from turnfold.checks import mask_old
from turnfold.indexes import Texts
from turnfold.model.counts import TokenCount
from turnfold.model.plan import Fit
from turnfold.model.scan import ScanOptions
from turnfold.transcript import Transcript


class Measure:
    """Counts of one transcript, by the encoding or model that the caller names, else by the body's model.

    Every number but `likely` is of the kind that `fit` names: an upper bound, or the likeliest; both are exact where
    the format and the vocabulary are. `encoding` is the vocabulary that plain text is counted in.
    """

    __slots__ = (
        "_bound",
        "_count",
        "_each",
        "_empty",
        "_folded",
        "_model",
        "_named",
        "_transcript",
        "encoding",
        "fixed_tokens",
        "rounded_tokens",
        "tokens",
        "whole",
    )

    def __init__(self, transcript: Transcript, encoding: str | None, model: str | None, fit: Fit) -> None:
        self._transcript = transcript
        self._empty: Transcript | None = None
        self._named, self._model, self._bound = encoding, model, fit == "bound"
        self._count = transcript.counter(encoding, model)
        self._each: list[int] | None = None
        # Of the whole request, the likeliest number leaves out what the provider has folded; no bound does.
        self._folded = range(0) if self._bound else range(*transcript.kernel.folded)
        self.encoding = transcript.encoding(encoding, model)
        self.whole: TokenCount = self.count(transcript)
        # Tools, system text beside the messages, reply priming: what no step touches.
        self.tokens = self.number(self.whole)
        # The bounds of estimates are rounded part by part: what makes up for that, a part.
        self.rounded_tokens = 0 if self.whole.source == "exact" else 1
        self.fixed_tokens = self.tokens - self.messages(0, len(transcript))

    def number(self, count: TokenCount) -> int:
        """Return the number of a count that limits are kept by."""
        return count.hi if self._bound else count.n

    def count(self, transcript: Transcript) -> TokenCount:
        """Count a whole request by the same measure."""
        return transcript.tokens(encoding=self._named, model=self._model)

    def span(self, start: int, stop: int) -> TokenCount:
        """Count messages `[start, stop)`. O(1) after the first count."""
        if start >= stop:
            return TokenCount(0, 0, 0, self.whole.source)
        return self._count(start, stop)

    @property
    def each(self) -> list[int]:
        """What each message counts: all are counted the first time."""
        if self._each is None:
            self._each = self._transcript.each_tokens(bound=self._bound, encoding=self._named, model=self._model)
        return self._each

    def messages(self, start: int, stop: int) -> int:
        """Say what messages `[start, stop)` count in the request. O(1) after the first count."""
        if start >= stop:
            return 0
        tokens, folded = self.number(self._count(start, stop)), self._folded
        if not folded:
            return tokens
        return tokens - self.number(self.span(max(start, folded.start), min(stop, folded.stop)))

    def likely(self, start: int, stop: int) -> int:
        """Count messages `[start, stop)` by the likeliest number: no bound, but what "smaller" is judged by."""
        return self.span(start, stop).n

    def new_message(self, message: bytes) -> int:
        """Say what a new message counts."""
        if self._empty is None:
            self._empty = self._transcript.splice([])
        return self.number(self._empty.append(message).tokens(0, 1, encoding=self._named, model=self._model))

    def edited(self, edits: Iterable[tuple[int, Texts]]) -> list[int]:
        """Say what messages would count with other texts in some of their blocks, in one call for all."""
        return self._transcript.edited_tokens(edits, bound=self._bound, encoding=self._named, model=self._model)

    def masked(
        self,
        messages: range,
        options: ScanOptions,
        *,
        min_tokens: int,
        over_tokens: int | None,
        part_tokens: int,
    ) -> tuple[list[int], list[tuple[tuple[int, str], ...]], list[int]]:
        """Mask old results of `messages`, as `checks.mask_old` does, by the same measure."""
        return mask_old(
            self._transcript,
            messages,
            options,
            bound=self._bound,
            encoding=self._named,
            model=self._model,
            min_tokens=min_tokens,
            over_tokens=over_tokens,
            part_tokens=part_tokens,
        )

    def new_text(self, role: str, text: str) -> int:
        """Say what a new message of one text counts."""
        return self.new_message(self._transcript.text_message(role, text))

    def text(self, text: str) -> int:
        """Count plain text, exactly."""
        return meter.count(text, self.encoding)
