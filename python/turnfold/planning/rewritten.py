"""Messages that stay with other texts, or without some of their blocks."""

from collections.abc import Iterable

from msgspec import structs

from turnfold.errors import ArgumentError
from turnfold.indexes import Texts
from turnfold.meter import truncate, truncate_middle
from turnfold.model.plan import CutSide, EditBlocks
from turnfold.transcript import Transcript

_GAP_TOKENS = 6


def replacing(edit: EditBlocks, texts: tuple[tuple[int, str], ...]) -> EditBlocks:
    """Return it with these texts in the place of what it does to their blocks."""
    new = dict(texts)
    blocks = tuple(block for block in edit.blocks if block not in new)
    return structs.replace(edit, blocks=blocks, replaced=tuple(sorted((dict(edit.replaced) | new).items())))


def edited_texts(transcript: Transcript, edit: EditBlocks, encoding: str) -> Texts:
    """Return the texts that `edit` gives to blocks of its message: those that it cuts, and those that it replaces."""
    blocks = transcript.blocks(edit.start)
    texts = {k: shorter(blocks[k].text, edit.max_tokens, encoding, edit.side) for k in edit.blocks}
    return texts | dict(edit.replaced)


def texts_of_each(transcript: Transcript, edits: Iterable[EditBlocks], encoding: str) -> list[tuple[int, Texts]]:
    """Return those texts for each of many messages, with its index."""
    return [(edit.start, edited_texts(transcript, edit, encoding) if edit.blocks else edit.replaced) for edit in edits]


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
