"""Messages that stay with other texts, or without some of their blocks, as JSON."""

import msgspec

from turnfold.errors import ArgumentError
from turnfold.meter import truncate, truncate_middle
from turnfold.model.plan import CutSide
from turnfold.transcript import Transcript

_GAP_TOKENS = 6


class Edited(msgspec.Struct, frozen=True, gc=False):
    """A kept message with other texts: those of `blocks` cut to `max_tokens` tokens each, and those of `replaced`."""

    blocks: tuple[int, ...] = ()
    max_tokens: int = 0
    side: CutSide = "both"
    replaced: tuple[tuple[int, str], ...] = ()

    def replacing(self, texts: list[tuple[int, str]]) -> "Edited":
        """Return it with these texts in the place of what it does to their blocks."""
        if not self.blocks and not self.replaced:
            return Edited(replaced=tuple(sorted(texts)))
        new = dict(texts)
        blocks = tuple(block for block in self.blocks if block not in new)
        return Edited(blocks, self.max_tokens, self.side, tuple(sorted((dict(self.replaced) | new).items())))


UNEDITED = Edited()


def edited_texts(transcript: Transcript, index: int, edit: Edited, encoding: str) -> dict[int, str]:
    """Return the texts that `edit` gives to blocks of message `index`."""
    if not edit.blocks:
        return dict(edit.replaced)
    blocks = transcript.blocks(index)
    texts = {k: shorter(blocks[k].text, edit.max_tokens, encoding, edit.side) for k in edit.blocks}
    return texts | dict(edit.replaced)


def stripped_message(transcript: Transcript, index: int, blocks: tuple[int, ...]) -> bytes:
    """Return the JSON of message `index` without `blocks`. Raises an `ArgumentError` where nothing would be left."""
    message = transcript.without_blocks(index, blocks)
    if message is None:
        raise ArgumentError(f"Message {index} has nothing left without blocks {list(blocks)}: drop it instead")
    return message


def shorter(text: str, max_tokens: int, encoding: str, side: CutSide) -> str:
    """Cut a text to `max_tokens`, and say in a line where it was cut."""
    if side == "both":
        return truncate_middle(text, max_tokens, encoding)
    left = truncate(text, max(max_tokens - _GAP_TOKENS, 0), encoding, keep=side)
    if left == text:
        return text
    return f"{left}\n[... cut]" if side == "head" else f"[... cut]\n{left}"
