"""What all steps of one plan ask of a transcript: its parts, its legal cuts, the earlier summary."""

from dataclasses import dataclass
from functools import cached_property

from turnfold import checks
from turnfold.model.layout import Layout
from turnfold.model.scan import ScanOptions
from turnfold.planning.wrapper import WrappedSummary, recognise
from turnfold.transcript import Transcript


@dataclass(frozen=True)
class Ground:
    """One transcript, looked at once: everything here is found when it is first asked for."""

    transcript: Transcript
    options: ScanOptions

    @cached_property
    def layout(self) -> Layout:
        """The parts beside the legal cuts."""
        return checks.layout(self.transcript, self.options)

    @cached_property
    def points(self) -> checks.SplitPoints:
        """The legal cuts."""
        return checks.split_points(self.transcript, self.options)

    @property
    def folded(self) -> range:
        """Messages that the provider has folded into a later one, and that may go for that."""
        return range(*self.layout.folded)

    @property
    def start(self) -> int:
        """The first message after the instructions and after what the provider folded: nothing before it is changed."""
        return self.layout.barrier[1]

    @property
    def own(self) -> int:
        """The first message that is not an earlier summary either."""
        return self.start + (self.previous is not None)

    @cached_property
    def previous(self) -> WrappedSummary | None:
        """What an earlier compaction left: message `start`, if it is a summary."""
        index = self.start
        if index >= len(self.transcript) or self.transcript.speakers[index] not in {"user", "assistant"}:
            return None
        blocks = self.transcript.blocks(index)
        return recognise(blocks[0].text) if len(blocks) == 1 and blocks[0].kind == "text" else None

    @cached_property
    def spoken(self) -> tuple[int, ...]:
        """The messages in which the user says something, an earlier summary left out."""
        return tuple(index for index in self.layout.turns if index >= self.own)

    @cached_property
    def first_unanswered(self) -> int:
        """The first of the user messages at the end that the model has not answered; the length if none."""
        speakers = self.transcript.speakers
        answered = next((i for i in range(len(speakers) - 1, -1, -1) if speakers[i] == "assistant"), -1)
        return next((index for index in self.spoken if index > answered), len(speakers))
