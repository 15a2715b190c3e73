"""What tool calls came to: the last of each piece of work, and failures with their number."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from turnfold.model.facts import DigestKind
from turnfold.model.summary import ToolDigest
from turnfold.prompts.schema import Topic

_TOPICS: Final[dict[DigestKind, Topic]] = {
    "read": "files",
    "write": "files",
    "shell": "commands",
    "search": "commands",
    "other": "tools",
}
_VERSION_CONTROL = re.compile(r"(?:cd [^;&|]+(?:;|&&) *)?(?:git|gh|hg|jj|svn) ")


def outcomes(digests: Iterable[ToolDigest]) -> Iterator[tuple[Topic, str, int]]:
    """Yield what calls did, by topic, oldest first, and how often that failed (1 where it did not).

    Of calls that did the same to the same, the last says how it stands now. What failed stays on record, each way of
    failing once, with how often it failed so, and how often the same work failed in all where that is more.
    """
    latest: dict[tuple[str | None, str, str | None], ToolDigest] = {}
    failed: Counter[tuple[str | None, str, str | None]] = Counter()
    times: Counter[tuple[str | None, str]] = Counter()
    for digest in digests:
        work = (None, digest.text) if digest.target is None else (digest.kind, digest.target)
        key = (*work, digest.text if digest.is_error else None)
        latest.pop(key, None)
        latest[key] = digest
        if digest.is_error:
            failed[key] += 1
            times[work] += 1
    for key, digest in latest.items():
        if not digest.is_error:
            yield _topic_of(digest), digest.text, 1
            continue
        own, all_of_it = failed[key], times[key[:2]]
        count = "" if own == 1 else f" ({own} times)"
        if all_of_it > own:
            count = f" ({own} of the {all_of_it} times that this failed)"
        yield "errors", digest.text + count, all_of_it


def _topic_of(digest: ToolDigest) -> Topic:
    versions = digest.kind == "shell" and _VERSION_CONTROL.match(digest.target or "") is not None
    return "versions" if versions else _TOPICS[digest.kind]
