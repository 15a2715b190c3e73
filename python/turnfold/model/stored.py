"""What a store holds of a conversation: its summaries, with what they cover, and what its session knows."""

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.plan import Tile
from turnfold.model.state import NO_STATE, PlanState


class StoredSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One compaction as data that can be done again: to the transcript that it was made for, and to one that goes on
    from there.

    It covers messages `[start, stop)`: nothing before or behind is changed. `source_digest` is the SHA-256 of these
    messages' bytes. `tiles` say what becomes of each of them, `messages` are the summary messages, as JSON, in order.
    `encoding` is that in which texts are cut. `version` is its number among those of the conversation, from 1; 0 where
    no store has it yet. `token` is that of the lease under which it was committed: whoever got no answer to a commit
    knows its own by that.
    """

    start: int
    stop: int
    source_digest: str
    tiles: tuple[Tile, ...]
    messages: tuple[str, ...]
    encoding: str
    policy: str
    method: str | None = None
    before_tokens: int = 0
    after_tokens: int = 0
    unix_seconds: float = 0.0
    version: int = 0
    token: str = ""


class StoredSession(msgspec.Struct, frozen=True, kw_only=True):
    """What a store has of a conversation: `version` is that of the last of its `summaries`, 0 where there is none."""

    conversation: str
    version: int = 0
    summaries: tuple[StoredSummary, ...] = ()
    state: PlanState = NO_STATE


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The right to commit the next version of a conversation's summary: the one after `base_version`.

    It ends with the commit, when it is abandoned, or when somebody takes it over, who may after `lease_seconds`, or as
    soon as its process is gone.
    """

    conversation: str
    token: str
    base_version: int


def check_conversation(conversation: object) -> str:
    """Return a conversation's id, 1 to 512 characters without NUL; raise `ArgumentError` for anything else."""
    if not isinstance(conversation, str):
        raise ArgumentError(f"a conversation's id is a str, not {type(conversation).__name__}")
    if not 0 < len(conversation) <= 512 or "\0" in conversation:
        raise ArgumentError(f"a conversation's id has 1 to 512 characters and no NUL, got {len(conversation)}")
    try:
        conversation.encode()
    except UnicodeEncodeError:
        raise ArgumentError("a conversation's id must be text that UTF-8 can hold") from None
    return conversation
