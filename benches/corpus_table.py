"""What turnfold reads of a folder of recorded logs: a source a row.

    python benches/corpus_table.py FOLDER [--source NAME ...] [--json] [--markdown]

Each file is read as the kind of log that it is detected to be. A row has the files, the transcripts in them, their
messages, calls and results; how many transcripts compact and how many of those can be written back into their log;
how many files leave byte-identical. Below the table stand finding codes, kinds of block that are not known and files
that no container knows, each with a count, and why some of what compacts is not written into its log; files that hold
no message are listed with what they hold instead, as messages_in.py finds it. What is compacted by rule is judged by
others, where they know the format: three validators of message histories (validators.py) and the SDKs' own types
(sdk_types.py).

FOLDER has a `MANIFEST.tsv` with the columns `source`, `file` and `format`; files are gzipped. Exits 1 where a file
crashes the reader, does not leave byte-identical, holds messages that no container reads, or a judge objects to an
output; 2 where the folder holds nothing.
"""

import argparse
import csv
import gzip
import json
import re
import sys
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from messages_in import why_none
from sdk_types import refusal
from validators import FORMATS, disagreements

from turnfold import CompactionResult, KeepMessages, OnRequest, Policy, Rules, Summarize, compact_sync, scan
from turnfold.containers import Log, LoggedTranscript, named, read_log
from turnfold.errors import NotWritableError, ReadError, UnknownContainerError

POLICY = Policy(trigger=OnRequest(), steps=(Summarize(keep=KeepMessages(2), max_tokens=400, task_max_tokens=100),))
COLUMNS = ("files", "transcripts", "messages", "calls", "results", "errors", "compacted", "written", "identical")


@dataclass
class Row:
    """One source."""

    counts: Counter[str] = field(default_factory=Counter)
    containers: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    unknown_kinds: Counter[str] = field(default_factory=Counter)
    not_written: Counter[str] = field(default_factory=Counter)
    without_messages: list[str] = field(default_factory=list)
    unknown_files: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def files(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    """Each recorded file of the manifest: its source, its name, its bytes. Notes about the recordings are left out."""
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as manifest:
        for row in csv.DictReader(manifest, delimiter="\t"):
            path = folder / row["file"]
            if row["format"] not in {"format", "oracle-notes"} and path.is_file():
                yield row["source"], row["file"], gzip.decompress(path.read_bytes())


def look(row: Row, name: str, data: bytes) -> None:
    """Read one file into its row."""
    row.counts["files"] += 1
    try:
        log = read_log(data)
    except UnknownContainerError as error:
        if (why := why_none(data)) is None:
            row.unknown_files.append(f"{name}: {error.text}")
        else:
            row.without_messages.append(f"{name}: {why}")
        return
    except ReadError as error:
        row.failures.append(f"{name}: recognised, but not read: {error}")
        return
    row.containers[log.container] += 1
    if log.write() == data:
        row.counts["identical"] += 1
    else:
        row.failures.append(f"{name}: does not leave byte-identical")
    for logged in log.transcripts:
        count(row, logged)
        compacted(row, f"{name} {logged.id}", log, logged)


def count(row: Row, logged: LoggedTranscript) -> None:
    """Count what one transcript holds."""
    transcript = logged.transcript
    report = scan(transcript)
    row.counts["transcripts"] += 1
    row.counts["messages"] += len(transcript)
    for index in range(len(transcript)):
        for block in transcript.blocks(index):
            row.counts["calls"] += block.kind == "tool_call"
            row.counts["results"] += block.kind == "tool_result"
    row.counts["errors"] += sum(finding.severity == "error" for finding in report.findings)
    row.findings.update(f"{finding.code} ({finding.severity})" for finding in report.findings)
    for kind, times in report.unknown_kinds:
        row.unknown_kinds[f"{transcript.format} {kind or 'without a type'}"] += times


def compacted(row: Row, name: str, log: Log, logged: LoggedTranscript) -> None:
    """Compact one transcript, write it back, and let others judge what came out."""
    result = compact_sync(logged.transcript, POLICY, Rules())
    if not isinstance(result, CompactionResult):
        return
    row.counts["compacted"] += 1
    try:
        log.write({logged.id: result})
        row.counts["written"] += 1
    except NotWritableError as error:
        # A recording is not written to, whatever stands in it; elsewhere names and numbers are the log's own.
        reason = re.sub(r"'[^']*'|\S*\d\S*", "_", error.text) if named(log.container).writes else "recordings"
        row.not_written[reason] += 1
    output = result.transcript
    if output.format in FORMATS:
        known = {(d.validator, d.theirs) for d in disagreements(logged.transcript)}
        row.failures += (
            f"{name}: {d.validator} finds {d.theirs}, turnfold {d.ours}"
            for d in disagreements(output)
            if d.explained is None and (d.validator, d.theirs) not in known
        )
    if (why := refusal(output)) is not None and refusal(logged.transcript) is None:
        row.failures.append(f"{name}: the SDK's types refuse what was compacted: {why[:300]}")


def table(rows: dict[str, Row], markdown: bool) -> Iterator[str]:
    """The lines of the table, totals last."""
    total = Row()
    for row in rows.values():
        total.counts.update(row.counts)
        total.containers.update(row.containers)
    width = max(map(len, rows), default=6)
    if markdown:
        yield "| " + " | ".join(("source", "container", *COLUMNS)) + " |"
        yield "|" + "---|" * 2 + "--:|" * len(COLUMNS)
    else:
        yield f"{'source':{width}}  " + " ".join(f"{column:>11}" for column in COLUMNS) + "  container"
    for name, row in [*rows.items(), ("total", total)]:
        numbers = [row.counts[column] for column in COLUMNS]
        kinds = f"{len(row.containers)} kinds" if name == "total" else ", ".join(sorted(row.containers)) or "-"
        if markdown:
            yield "| " + " | ".join((name, kinds, *(f"{number:,}" for number in numbers))) + " |"
        else:
            yield f"{name:{width}}  " + " ".join(f"{number:>11,}" for number in numbers) + f"  {kinds}"


def details(rows: dict[str, Row]) -> Iterator[str]:
    """The lines below the table: findings, unknown kinds, unknown files, failures."""
    findings: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    not_written: Counter[str] = Counter()
    for row in rows.values():
        findings.update(row.findings)
        not_written.update(row.not_written)
        unknown.update(row.unknown_kinds)
    yield ""
    yield "findings: " + (", ".join(f"{code} {times:,}" for code, times in sorted(findings.items())) or "none")
    yield "unknown kinds: " + (", ".join(f"{kind} {times:,}" for kind, times in sorted(unknown.items())) or "none")
    yield f"compacted, and not written: {not_written.total():,}"
    yield from (f"  {times:,}: {why}" for why, times in not_written.most_common())
    unread = [name for row in rows.values() for name in row.unknown_files]
    without = [name for row in rows.values() for name in row.without_messages]
    yield f"files that no container knows and that hold no message: {len(without)}"
    yield from (f"  {name}" for name in without)
    yield f"files with messages that no container knows: {len(unread)}"
    yield from (f"  {name}" for name in unread)
    failures = [failure for row in rows.values() for failure in row.failures]
    yield from (f"FAIL {failure}" for failure in failures)
    yield f"{len(failures)} failures"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", nargs="+", help="only these sources")
    parser.add_argument("--json", action="store_true", help="one JSON object a source instead of the table")
    parser.add_argument("--markdown", action="store_true", help="the table as Markdown")
    options = parser.parse_args()
    rows: dict[str, Row] = defaultdict(Row)
    for source, name, data in files(options.folder):
        if options.source and source not in options.source:
            continue
        try:
            look(rows[source], name, data)
        except Exception:  # noqa: BLE001  # one bad file must not hide the rest
            rows[source].failures.append(f"{name}: {traceback.format_exc(limit=-3)}")
    if options.json:
        for name, row in rows.items():
            shown = {key: dict(value) if isinstance(value, Counter) else value for key, value in vars(row).items()}
            print(json.dumps({"source": name, **shown}))
    else:
        print("\n".join(table(rows, options.markdown)))
        print("\n".join(details(rows)))
    if not rows:
        return 2
    return 1 if any(row.failures or row.unknown_files for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
