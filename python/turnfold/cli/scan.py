"""`turnfold scan`: which provider rules each transcript breaks."""

import argparse
from typing import get_args

import msgspec

from turnfold.checks import check_names, scan
from turnfold.cli.display import Column, Table, number, place, write_record, write_text
from turnfold.cli.faults import FOUND, OK, UNREADABLE, FaultLog, UsageError
from turnfold.cli.inputs import Document
from turnfold.cli.reading import INPUTS_HELP, add_paths, read_transcripts, wanted_of
from turnfold.model.findings import CallPlace, Finding, IntegrityReport
from turnfold.model.scan import BODY_ONLY, RuleSeverity, ScanOptions
from turnfold.presets.rules import BY_NAME

SUMMARY = "check each transcript against its provider's rules"
USAGE = """\
turnfold scan PATH... [--format NAME | --container NAME] [--column NAME] [--rules NAME]
                     [--severity CODE=SEVERITY]... [--json]"""
DETAILS = f"""\
Pairs every tool call with its result and checks the rules of the transcript's wire format. A finding has a stable
code, the provider rule behind it, its place, and what a provider would answer. Errors are refused by the provider;
warnings and hints are not, or only by stricter servers.

--rules NAME asks for what one kind of receiver refuses: {", ".join(BY_NAME)}.
--severity replaces how bad breaking one rule is: a finding code or a provider's rule id, =, and off, hint, warning or
error. It goes before --rules, and of two for one rule the later counts.

{INPUTS_HELP}

exit status: 0 no finding is an error; 1 a finding is an error; 2 a path could not be read, or the command line is
wrong (2 goes before 1)."""


class ScanRecord(msgspec.Struct, frozen=True):
    """One line of `turnfold scan --json`. `pairs` counts the calls that have their result.

    `unknown_kinds` are kinds of block that this version does not know, with how often each occurs.
    """

    path: str
    index: int
    id: str | None
    format: str
    ok: bool
    pairs: int
    pending: tuple[CallPlace, ...]
    findings: tuple[Finding, ...]
    unknown_kinds: tuple[tuple[str, int], ...]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    parser.add_argument("--rules", metavar="NAME", choices=BY_NAME, help="the receiver whose rules count (see below)")
    parser.add_argument(
        "--severity",
        metavar="CODE=SEVERITY",
        action="append",
        default=[],
        help="how bad a finding code or rule id is: off, hint, warning, error; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    """Scan; returns the exit status."""
    asked = _asked(options.rules, options.severity)
    faults = FaultLog(tells_all=True)
    all_ok = True
    table = _table()
    for document, transcript in read_transcripts(options.paths, wanted_of(options), faults):
        report = scan(transcript, asked)
        all_ok = all_ok and report.ok
        record = _record(document, transcript.format, report)
        if options.json:
            write_record(record)
        else:
            _print(table, record)
    if faults.count:
        return UNREADABLE
    return OK if all_ok else FOUND


def _asked(name: str | None, replaced: list[str]) -> ScanOptions:
    asked = BODY_ONLY if name is None else BY_NAME[name]()
    severities = tuple(_severity(text) for text in replaced)
    check_names(code for code, _ in severities)
    return msgspec.structs.replace(asked, severities=asked.severities + severities)


def _severity(text: str) -> tuple[str, RuleSeverity]:
    code, _, given = text.partition("=")
    for severity in get_args(RuleSeverity):
        if given == severity:
            return code, severity
    raise UsageError(f"--severity takes CODE=off, =hint, =warning or =error, not {text!r}")


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
        unknown_kinds=report.unknown_kinds,
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
    if record.unknown_kinds:
        kinds = (f"{name!r} {number(count)}" for name, count in record.unknown_kinds)
        write_text(f"  kinds of block that are not known: {', '.join(kinds)}")
