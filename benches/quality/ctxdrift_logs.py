r"""`ctxdrift`: recorded logs, compacted and written back in their own form; which files does the log no longer name?

    python benches/quality/ctxdrift_logs.py FOLDER [--share 0.25] [--verbose]

FOLDER is searched for logs of Claude Code, `.jsonl` or `.jsonl.gz`. `ctxdrift` counts a file as lost (CD04) when its
name stood before the compaction and stands neither in the summary nor in any later record. Logs with a compaction of
the tool's own are left out: what that dropped is in no transcript. What `ctxdrift` takes for a file is a pattern over
all text: `self.c`, `args.h` and the option `-Dlog.java.dir` are files to it, and all that it finds is asked for. None
may be lost. One kind is counted beside them: to `ctxdrift` the string "one.txt\ntwo.txt" names the file `ntwo.txt`. A
name is of that kind where the text holds it nowhere but with its first letter behind a backslash.
"""

import argparse
import gzip
import re
import sys
import tempfile
from pathlib import Path, PurePath

import ctxdrift

from turnfold import Skip, compact_sync, presets, read_log
from turnfold.containers import Log, LoggedTranscript
from turnfold.errors import TurnfoldError

_ENCODING = "o200k_base"


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def longest_of(log: Log) -> LoggedTranscript:
    """The transcript of `log` with the most tokens. Others in the same log are not compacted, and lose nothing."""
    return max(log.transcripts, key=lambda logged: logged.transcript.tokens(encoding=_ENCODING).n)


def compact_log(log: Log, share: float) -> bytes | None:
    """Compact the longest transcript of `log` to `share` of its tokens, all of it; None where that is refused."""
    longest = longest_of(log)
    tokens = longest.transcript.tokens(encoding=_ENCODING).hi
    limit = int(tokens * share)
    policy = presets.ledger(0, fraction=None, limit_tokens=limit, ledger_tokens=limit, user_verbatim=False)
    result = compact_sync(longest.transcript, policy, encoding=_ENCODING)
    return None if isinstance(result, Skip) else log.write({longest.id: result})


def compaction_of(log: bytes) -> ctxdrift.Compaction:
    """The compaction that was written. `ctxdrift` itself finds those whose summary starts with words that it knows."""
    lines = [number for number, line in enumerate(log.splitlines(), 1) if b'"isCompactSummary":true' in line]
    return ctxdrift.Compaction(lines[-1], "", "isCompactSummary")


def lost_files(events: list[ctxdrift.Event], boundary: int, own: str) -> tuple[set[str], set[str], int]:
    """Names in `own`, all text that was compacted, that `ctxdrift` calls lost; those of them that tools were called
    with; and how many it knows of.
    """
    before = [event for event in events if event.line_no < boundary]
    said = "\n".join(event.text for event in events if event.line_no >= boundary).lower()
    called: set[str] = set()
    named: set[str] = set()
    for event in before:
        if event.kind == "tool_call" and event.tool in ctxdrift.READ_TOOLS | ctxdrift.WRITE_TOOLS:
            given = event.meta.get("input", {})
            called |= {str(given[key]) for key in ("file_path", "path", "filePath") if given.get(key)}
        else:
            named |= set(ctxdrift.files_in(event.text))
    named = {name for name in named if PurePath(name).name in own}
    called = {name for name in called if PurePath(name).name in own}
    lost = {name for name in named | called if PurePath(name).name.lower() not in said}
    return lost, lost & called, len(named | called)


def is_misread(name: str, own: str) -> bool:
    """Whether the first letter of `name` is that of an escaped line break or tab wherever it stands in `own`."""
    last = PurePath(name).name
    return last[:1] in set("nrt") and re.search(rf"(?<!\\){re.escape(last)}", own) is None


def main() -> int:
    """Print what is lost; 1 where anything is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--least-tokens", type=int, default=2_000)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    logs = names = lost_names = lost_calls = misread = findings = 0
    with tempfile.TemporaryDirectory() as temporary:
        for path in sorted(arguments.folder.rglob("*.jsonl*")):
            data = _read(path)
            if b"isCompactSummary" in data:
                continue
            try:
                log = read_log(data)
            except TurnfoldError:
                continue
            if log.container != "claude_code" or not log.transcripts:
                continue
            if max(t.transcript.tokens(encoding=_ENCODING).n for t in log.transcripts) < arguments.least_tokens:
                continue
            written = compact_log(log, arguments.share)
            if written is None:
                continue
            copy = Path(temporary) / "log.jsonl"
            copy.write_bytes(written)
            transcript = longest_of(log).transcript
            own = "\n".join(b.text for index in range(len(transcript)) for b in transcript.blocks(index))
            events, compaction = ctxdrift.parse_jsonl(str(copy)), compaction_of(written)
            lost, by_calls, known = lost_files(events, compaction.line_no, own)
            wrong = {name for name in lost if is_misread(name, own)}
            lost, misread = lost - wrong, misread + len(wrong)
            found = ctxdrift.analyze(events, [compaction])
            logs, names, lost_names = logs + 1, names + known, lost_names + len(lost)
            lost_calls, findings = lost_calls + len(by_calls), findings + any(f.rule == "CD04" for f in found)
            if arguments.verbose and lost:
                print(f"{path.name}: {len(lost)} of {known}: {sorted(lost)[:12]}")
    print(
        f"{logs} logs, {names} names, {lost_names} lost in {findings} logs; "
        f"lost that a tool was called with: {lost_calls}; misread by the kit: {misread}"
    )
    return 1 if lost_names or not logs else 0


if __name__ == "__main__":
    sys.exit(main())
