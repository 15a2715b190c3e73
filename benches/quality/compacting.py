"""What the quality benches share: the one path, at a given size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnfold import Skip, Transcript, compact_sync, presets

Message = Mapping[str, object]
ENCODING = "o200k_base"


@dataclass(frozen=True)
class Compacted:
    """Messages after a compaction; `applied` is False where they are the messages from before."""

    messages: tuple[Message, ...]
    applied: bool

    @property
    def text(self) -> str:
        """All of what they say, instructions included, one message below the other."""
        return "\n".join(str(message.get("content") or "") for message in self.messages)


def compact_messages(messages: Sequence[Message], limit_tokens: int, keep_messages: int = 0) -> Compacted:
    """Compact Chat Completions messages to at most `limit_tokens`, by the preset `ledger` and without a model."""
    transcript = Transcript.from_messages([dict(message) for message in messages], format="openai.chat")
    policy = presets.ledger(
        keep_messages, fraction=None, limit_tokens=limit_tokens, ledger_tokens=limit_tokens, user_verbatim=False
    )
    result = compact_sync(transcript, policy, encoding=ENCODING)
    if isinstance(result, Skip):
        return Compacted(tuple(messages), applied=False)
    return Compacted(tuple(result.transcript.messages), applied=True)


def compact_characters(messages: Sequence[Message], limit_characters: int) -> Compacted:
    """Compact to at most `limit_characters`: the largest limit in tokens that gives a text so short."""
    low, high = 1, limit_characters
    best = Compacted(tuple(messages), applied=False)
    while low <= high:
        tokens = (low + high) // 2
        tried = compact_messages(messages, tokens)
        if tried.applied and len(tried.text) <= limit_characters:
            if not best.applied or len(tried.text) >= len(best.text):
                best = tried
            low = tokens + 1
        elif tried.applied or len(tried.text) <= limit_characters:
            high = tokens - 1
        else:
            low = tokens + 1
    return best
