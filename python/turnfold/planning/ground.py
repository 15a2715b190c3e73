"""What all steps of one plan ask of a transcript: its parts, its legal cuts, the earlier summary."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from turnfold import checks
from turnfold.model.findings import Finding, IntegrityReport
from turnfold.model.layout import Layout
from turnfold.model.scan import ScanOptions
from turnfold.planning.wrapper import WrappedSummary, recognise
from turnfold.transcript import Transcript

_MARK: Final = b"turnfold-summary"


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
    def alternates(self) -> bool:
        """Whether user and model take turns, and nobody speaks twice in a row."""
        return self.options.strict_alternation or self.transcript.always_alternates

    @cached_property
    def report(self) -> IntegrityReport:
        """What a scan finds in it."""
        return checks.scan(self.transcript, self.options)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What a scan finds wrong with it."""
        return self.report.findings if "report" in vars(self) else checks.findings(self.transcript, self.options)

    @cached_property
    def _answered(self) -> dict[tuple[int, int], tuple[int, int]]:
        """The call that each result answers, both by message and block."""
        return {(p.result_message, p.result_block): (p.call_message, p.call_block) for p in self.report.pairs}

    def tool_name(self, message: int, block: int) -> str | None:
        """Name the tool of a call or result: a result may not say it itself, so its call is asked."""
        call = self._answered.get((message, block))
        return self.transcript.block_heads[message][block].name if call is None else self._calls[call]

    @cached_property
    def _calls(self) -> dict[tuple[int, int], str | None]:
        """The tool of each call, by message and block."""
        return {(message, block): name for message, block, name in self.transcript.places("tool_call")}

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
        """The first message that is not an earlier summary at the start either."""
        return self.start + (self.previous is not None)

    @property
    def previous(self) -> WrappedSummary | None:
        """What an earlier compaction left: message `start`, if it is a summary."""
        return self.summaries.get(self.start)

    @cached_property
    def summaries(self) -> dict[int, WrappedSummary]:
        """What earlier compactions left, by message. O(bytes), and blocks are read only of messages that name it."""
        transcript = self.transcript
        found: dict[int, WrappedSummary] = {}
        for index in transcript.messages_with(_MARK):
            if index < self.start or transcript.speakers[index] not in {"user", "assistant"}:
                continue
            blocks = transcript.blocks(index)
            summary = recognise(blocks[0].text) if len(blocks) == 1 and blocks[0].kind == "text" else None
            if summary is not None:
                found[index] = summary
        return found

    @property
    def latest_summary(self) -> int:
        """The last message that is a summary; -1 without one."""
        return max(self.summaries, default=-1)

    @cached_property
    def spoken(self) -> tuple[int, ...]:
        """The messages in which the user says something, earlier summaries left out."""
        turns, summaries = self.layout.turns, self.summaries
        spoken = turns[bisect_left(turns, self.start) :]
        return tuple([index for index in spoken if index not in summaries]) if summaries else spoken

    @cached_property
    def words(self) -> dict[int, str | None]:
        """What the user says in each of those messages; None where that is blank. O(bytes)."""
        texts = self.transcript.said(self.spoken)
        return {index: text.strip() or None for index, text in zip(self.spoken, texts, strict=True)}

    @cached_property
    def groups(self) -> tuple[range, ...]:
        """What stays together or goes together, after `start`: the messages between one legal cut and the next."""
        cuts = list(self.points)
        del cuts[: bisect_left(cuts, self.start)]
        return tuple(map(range, cuts, cuts[1:]))

    @cached_property
    def tool_groups(self) -> tuple[range, ...]:
        """The groups that hold a call with its results. O(blocks)."""
        calling = {message for message, _, _ in self.transcript.places("tool_call")}
        return tuple([group for group in self.groups if not calling.isdisjoint(group)])

    def start_of_tool_groups(self, count: int) -> int:
        """Return the first message of the last `count` of them, or `start` where there are fewer."""
        return self.points.start_of_tool_groups(count, self.start)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """The first message of each group in which the model speaks, summaries left out."""
        speakers, summaries = self.transcript.speakers, self.summaries
        return tuple(
            group.start
            for group in self.groups
            if group.start not in summaries and any(speakers[index] == "assistant" for index in group)
        )

    @property
    def first_unanswered(self) -> int:
        """The first of the user messages at the end that the model has not answered; the length if none."""
        speakers = self.transcript.speakers
        first = len(speakers)
        for index in reversed(self.spoken):
            if "assistant" in speakers[index:first]:
                break
            first = index
        return first
