"""Text that is too long, as its head, a line that says what went, and its tail."""

from turnfold import meter
from turnfold.planning.wrapper import neutralise

_HEAD_SHARE = 2 / 3


def shorten(text: str, max_tokens: int, encoding: str) -> str:
    """Return `text` where it counts at most `max_tokens`; else head and tail around a notice, together at most that.

    Cuts stand between characters. Where not even the notice fits, as much of it as does. Linear in the text.
    """
    if meter.count_up_to(text, max_tokens, encoding) is not None:
        return text
    total = meter.count(text, encoding)
    room = max_tokens - meter.count(_notice(total, total), encoding)
    while room > 0:
        head_tokens = max(1, int(room * _HEAD_SHARE))
        head = meter.truncate(text, head_tokens, encoding, keep="head")
        tail = meter.truncate(text, room - head_tokens, encoding, keep="tail")
        removed = total - meter.count(head, encoding) - meter.count(tail, encoding)
        short = f"{head}{_notice(removed, total)}{tail}"
        over = meter.count(short, encoding) - max_tokens
        if over <= 0:
            return short
        room -= over
    return meter.truncate(_notice(total, total).strip(), max_tokens, encoding)


def quote_task(task: str, max_tokens: int, encoding: str) -> str:
    """Quote the first user message for a summary: without imitated delimiters, shortened to `max_tokens`."""
    return shorten(neutralise(task), max_tokens, encoding)


def _notice(removed: int, total: int) -> str:
    return f"\n[{removed} of {total} tokens were cut here]\n"
