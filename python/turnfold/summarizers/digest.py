"""A digest by rule: one line a tool call, under a line that counts them and the updates so far."""

import re
from typing import Final

from turnfold import meter
from turnfold.model.quoting import neutralise
from turnfold.model.summary import SummaryRequest, ToolDigest

OMITTED: Final = "[The digest is left out: there is no room for it]"
CUT: Final = "[The digest is cut here]"
LEAST_TOKENS: Final = 50
"""Below so many tokens a digest says less than its own header."""

_HEADER = re.compile(r"^Digest of (\d+) items?, update (\d+):$", re.MULTILINE)


def write_digest(request: SummaryRequest) -> str:
    """Write the digest, the newest lines first to stay. Counts at most `request.max_tokens` tokens."""
    if request.max_tokens < LEAST_TOKENS:
        return OMITTED if meter.count(OMITTED, request.encoding) <= request.max_tokens else "..."
    earlier, count, update = _earlier(request.previous)
    lines = [*earlier, *(digest_line(digest) for digest in request.digests)]
    header = _header(count + len(request.digests), update + 1)
    room = request.max_tokens - meter.count(f"{header}\n{CUT}\n", request.encoding) - 2
    kept: list[str] = []
    for line, tokens in zip(
        reversed(lines), meter.count_many([f"{line}\n" for line in reversed(lines)], request.encoding), strict=True
    ):
        if tokens > room:
            kept.append(CUT)
            break
        room -= tokens
        kept.append(line)
    return "\n".join([header, *reversed(kept)])


def digest_line(digest: ToolDigest) -> str:
    """Return one call as a line: whether it failed, its tool, what it did."""
    text = " ".join(neutralise(digest.text).split())
    said = text.removeprefix(digest.tool).lstrip(": ") or digest.outcome
    return f"[{'❌' if digest.is_error else '✓'} {digest.tool}: {said}]"


def _header(count: int, update: int) -> str:
    return f"Digest of {count} {'item' if count == 1 else 'items'}, update {update}:"


def _earlier(previous: str | None) -> tuple[list[str], int, int]:
    """Take apart what an earlier digest says: its lines, how many items it stands for, which update it was."""
    if previous is None:
        return [], 0, 0
    header = _HEADER.search(previous)
    lines = [line for line in previous.splitlines() if line and line not in {CUT, OMITTED} and not _HEADER.match(line)]
    return (lines, int(header[1]), int(header[2])) if header else (lines, len(lines), 0)
