"""Searches: the pattern, how often and in how many files it was found, and where most often."""

import re
from collections import Counter
from typing import Final

from turnfold.model.facts import Extracted, Fact, ToolCall

NAMED_FILES: Final = 3
_MATCH = re.compile(r"^(?P<file>(?:[A-Za-z]:\\)?[^\s:][^:\n]*?)[:-](?P<line>\d+)[:-]")
_PATH = re.compile(r"^(?:[-*•] )?(?P<file>(?:[A-Za-z]:)?[\w.@~+\\/-]*[\w.-]+(?:/|\.\w{1,10})?)$")
_LISTING = re.compile(r"^ *\d+ +(?P<file>\S+)$")
_COUNT = re.compile(r"\b(?:found|showing)\s+(\d+)\s+(?:match|result|file|line)", re.IGNORECASE)
_NOTHING = re.compile(r"^\W*(?:no (?:matches|files|results)\b|found 0 )", re.IGNORECASE)


def extract(call: ToolCall) -> Extracted:
    """Count lines such as `path:12: text` by their path; a result of bare paths counts each as one match."""
    pattern = call.target or ""
    facts: list[Fact] = [("Pattern", pattern)]
    if call.failed or call.result is None:
        return Extracted(tuple(facts), {"pattern": pattern})
    files: Counter[str] = Counter()
    if not _NOTHING.match(call.result):
        for line in call.result.splitlines():
            text = line.strip()
            found = _MATCH.match(text) or _LISTING.match(line) or _PATH.match(text)
            if found is not None:
                files[found["file"]] += 1
    stated = _COUNT.search(call.result)
    matches = int(stated[1]) if stated is not None else sum(files.values())
    facts += [("Matches", str(matches)), ("Files", str(len(files)))]
    if files:
        # By count, and of equals the one that came first.
        top = sorted(files.items(), key=lambda item: -item[1])[:NAMED_FILES]
        facts.append(("Top", ", ".join(f"{name} ({count})" if count > 1 else name for name, count in top)))
    return Extracted(tuple(facts), {"pattern": pattern, "matches": matches, "files": len(files)})
