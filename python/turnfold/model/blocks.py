"""What a message is made of."""

from typing import Literal

import msgspec

Role = Literal["system", "developer", "user", "assistant", "tool", "other"]
"""Who speaks, whatever the format calls it."""

Binding = Literal["free", "next", "both", "barrier", "sticky", "pointer"]
"""What a block must stay beside: nothing, what comes after it, both neighbours (an unknown kind). A `barrier` has
everything before it folded into it, a `sticky` block sets state for all that follows, a `pointer` stands for something
that only the server holds."""

BlockKind = Literal["text", "tool_call", "tool_result", "reasoning", "media", "opaque"]


class Block(msgspec.Struct, frozen=True, gc=False):
    """One block of a message.

    `path` is its JSON path, such as `messages[4].tool_calls[0]`. `call_id` is on calls and results alike, `name` is
    the tool's. `text` is all of its text that is counted, joined by newlines: for a call its arguments as they stand.
    A block is `rewritable` where a string can take the place of its text without loss; a result with an image is not.
    `type_name` is its `type` as the input spells it, for opaque blocks and media.
    """

    kind: BlockKind
    path: str
    call_id: str | None
    name: str | None
    text: str
    is_error: bool
    rewritable: bool
    binding: Binding
    type_name: str | None


class BlockHead(msgspec.Struct, frozen=True, gc=False):
    """A block without its text, as in `Block`. `text_bytes` is what the text takes in the body, escapes and quotes
    included: at least as much as it has.
    """

    kind: BlockKind
    name: str | None
    is_error: bool
    rewritable: bool
    text_bytes: int
