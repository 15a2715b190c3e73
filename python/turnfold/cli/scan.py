"""`turnfold scan`: which provider rules each transcript breaks."""

import argparse

import msgspec

from turnfold.checks import scan
from turnfold.cli.display import Column, Table, number, place, write_record, write_text
from turnfold.cli.faults import FOUND, OK, UNREADABLE, FaultLog
from turnfold.cli.inputs import Document
from turnfold.cli.reading import INPUTS_HELP, add_paths, read_transcripts, wanted_of
from turnfold.model.findings import CallPlace, Finding, IntegrityReport

SUMMARY = "check each transcript against its provider's rules"
USAGE = "turnfold scan PATH... [--format NAME | --container NAME] [--json]"
DETAILS = f"""\
Pairs every tool call with its result and checks the rules of the transcript's wire format. A finding has a stable
code, the provider rule behind it, its place, and what a provider would answer. Errors are refused by the provider;
warnings and hints are not, or only by stricter servers.

{INPUTS_HELP}

exit status: 0 no finding is an error; 1 a finding is an error; 2 a path could not be read, or the command line is
wrong (2 goes before 1)."""


class ScanRecord(msgspec.Struct, frozen=True):
    """One line of `turnfold scan --json`. `pairs` counts the calls that have their result."""

    path: str
    index: int
    id: str | None
    format: str
    ok: bool
    pairs: int
    pending: tuple[CallPlace, ...]
    findings: tuple[Finding, ...]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)


def run(options: argparse.Namespace) -> int:
    """Scan; returns the exit status."""
    faults = FaultLog()
    all_ok = True
    table = _table()
    for document, transcript in read_transcripts(options.paths, wanted_of(options), faults):
        report = scan(transcript)
        all_ok = all_ok and report.ok
        record = _record(document, transcript.format, report)
        if options.json:
            write_record(record)
        else:
            _print(table, record)
    if faults.count:
        return UNREADABLE
    return OK if all_ok else FOUND


def _record(document: Document, wire_format: str, report: IntegrityReport) -> ScanRecord:
    return ScanRecord(
        path=document.file.shown,
        index=document.index,
        id=document.id,
        format=wire_format,
        ok=report.ok,
        pairs=len(report.pairs),
        pending=report.pending,
        findings=report.findings,
    )


def _table() -> Table:
    return Table(
        (
            Column("transcript", 0),
            Column("format", 18),
            Column("ok", 3),
            Column("pairs", 6, right=True),
            Column("pending", 7, right=True),
            Column("errors", 6, right=True),
            Column("warnings", 8, right=True),
            Column("hints", 5, right=True),
        )
    )


def _print(table: Table, record: ScanRecord) -> None:
    severities = [finding.severity for finding in record.findings]
    table.row(
        (
            place(record.path, record.index, record.id),
            record.format,
            "yes" if record.ok else "no",
            number(record.pairs),
            number(len(record.pending)),
            number(severities.count("error")),
            number(severities.count("warning")),
            number(severities.count("hint")),
        ),
        style="" if record.ok else "red",
    )
    for finding in record.findings:
        write_text(f"  {finding.severity} {finding.code} ({finding.rule}) {finding.path}: {finding.text}")
