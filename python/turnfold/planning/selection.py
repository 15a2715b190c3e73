"""What a summary replaces: from the leading instructions to a legal cut before the kept tail."""

import msgspec

from turnfold import checks
from turnfold.model.plan import SkipReason
from turnfold.model.policy import Summarize
from turnfold.model.scan import ScanOptions
from turnfold.planning.wrapper import WrappedSummary, recognise
from turnfold.transcript import Transcript

_SPOKEN = ("text", "media", "opaque")


class Selection(msgspec.Struct, frozen=True):
    """Messages `[start, stop)` go. `previous` is the earlier summary, which is then message `start`."""

    start: int
    stop: int
    previous: WrappedSummary | None

    @property
    def covered(self) -> int:
        """How many messages the summary of this selection replaces, those before an earlier summary included."""
        own = self.stop - self.start
        return own if self.previous is None else own - 1 + self.previous.messages


class NotSelected(msgspec.Struct, frozen=True):
    """Why there is nothing to replace."""

    reason: SkipReason
    text: str


def select(transcript: Transcript, step: Summarize, options: ScanOptions, encoding: str) -> Selection | NotSelected:
    """Choose what `step` replaces. O(messages)."""
    start = transcript.leading
    chosen = checks.find_split(transcript, step.keep, options, encoding=encoding)
    if chosen is None:
        return NotSelected("no_legal_split", "The transcript can be cut nowhere.")
    splits = checks.split_points(transcript, options)
    wanted = min(chosen.requested, first_unanswered(transcript))
    stop = min(chosen.index, wanted)
    legal = splits.at_or_before(stop)
    stop = start if legal is None else legal
    previous = earlier_summary(transcript)
    first_own = start + (previous is not None)
    if stop > first_own:
        return Selection(start, stop, previous)
    if wanted <= first_own:
        return NotSelected("nothing_to_compact", "The policy keeps every message that is not a summary already.")
    blockers = splits.why_not(wanted)
    because = blockers[0].text.rstrip(".") if blockers else "nothing before it can go"
    return NotSelected("no_legal_split", f"No cut at or before message {wanted} leaves a valid transcript: {because}.")


def first_unanswered(transcript: Transcript) -> int:
    """Find the first of the user messages at the end that the model has not answered; the length if none."""
    first = len(transcript)
    roles = transcript.speakers
    for index in range(len(transcript) - 1, first_message(transcript) - 1, -1):
        if roles[index] == "assistant":
            break
        if is_spoken(transcript, index):
            first = index
    return first


def first_message(transcript: Transcript) -> int:
    """Find the first message that is neither an instruction nor an earlier summary."""
    return transcript.leading + (earlier_summary(transcript) is not None)


def is_spoken(transcript: Transcript, index: int) -> bool:
    """Say whether a message is what a user said: of role user, and more than tool results."""
    return transcript.speakers[index] == "user" and any(b.kind in _SPOKEN for b in transcript.blocks(index))


def earlier_summary(transcript: Transcript) -> WrappedSummary | None:
    """Recognise what an earlier compaction left: the first message after the instructions, if it is a summary."""
    index = transcript.leading
    if index >= len(transcript) or transcript.speakers[index] not in {"user", "assistant"}:
        return None
    blocks = transcript.blocks(index)
    return recognise(blocks[0].text) if len(blocks) == 1 and blocks[0].kind == "text" else None
