"""What a message is made of."""

from typing import Literal

import msgspec

BlockKind = Literal["text", "tool_call", "tool_result", "reasoning", "media", "opaque"]


class Block(msgspec.Struct, frozen=True):
    """One block of a message.

    `path` is its JSON path, such as `messages[4].tool_calls[0]`. `call_id` is on calls and results alike, `name` is
    the tool's. `text` is all of its text that is counted, joined by newlines: for a call its arguments as they stand.
    A block is `rewritable` where a string can take the place of its text without loss; a result with an image is not.
    """

    kind: BlockKind
    path: str
    call_id: str | None
    name: str | None
    text: str
    is_error: bool
    rewritable: bool
