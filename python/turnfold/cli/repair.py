"""`turnfold repair`: writes each transcript with what a scan finds mended, and says what was done."""

import argparse
from typing import Literal, get_args

import msgspec

from turnfold.checks import repair, scan
from turnfold.cli.compact import inputs_of
from turnfold.cli.display import Column, Table, amount, number, place, write_record, write_text
from turnfold.cli.faults import FOUND, OK, Fault, complain, fault_of_error
from turnfold.cli.inputs import Document
from turnfold.cli.outputs import Target, make_room, plan_targets
from turnfold.cli.reading import INPUTS_HELP, add_paths, read_document, wanted_of
from turnfold.cli.rewriting import Outcomes, rewrite_file
from turnfold.errors import NotWritableError, TurnfoldError
from turnfold.model.repair import Repair, RepairOptions, Unanswered
from turnfold.model.scan import ScanOptions
from turnfold.transcript import Transcript

SUMMARY = "mend what a scan finds in each transcript and write it to OUT"
USAGE = """\
turnfold repair PATH... -o OUT [--unanswered synthesize|drop] [--pending ID]...
                       [--format NAME | --container NAME] [--column NAME] [--json]"""
DETAILS = f"""\
Results without a call, and all but the first of a call, go; results in the wrong place are moved; calls that nobody
answered get a result that says so, or go; ids are given and made distinct; reasoning that lost its answer, blank text
and empty messages go; blocks are put in the order that the provider asks for. What only the author can know stays, and
a scan still finds it: roles that do not take turns, instructions in the wrong place, reasoning that a provider misses.
Messages that are not touched keep every byte; a clean transcript is written unchanged.

OUT is a folder, a file or - as for compact. A log is not written in its own form: where one needs repair it is copied
unchanged, and its record says so (not_writable).

{INPUTS_HELP}

exit status: 0 every transcript was repaired or clean; 1 a transcript or file failed; 2 the command line is wrong,
OUT included (nothing was written)."""


class RepairRecord(msgspec.Struct, frozen=True):
    """One line of `turnfold repair --json`.

    `status` is clean (nothing to do), repaired, skipped (a log that needs repair: written unchanged, `reason` is
    `not_writable`) or failed (not written; `reason` is the error's code). `repairs` lists what was done, or would have
    been. `findings` counts what a scan of the output finds. `output` is the file that the transcript is in when the
    command ends. Fields that a failed transcript has no value for are null.
    """

    path: str
    index: int | None
    id: str | None
    format: str | None
    status: Literal["clean", "repaired", "skipped", "failed"]
    reason: str | None
    text: str
    repairs: tuple[Repair, ...]
    findings: int | None
    output: str | None


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="folder, file or - for stdout")
    parser.add_argument(
        "--unanswered",
        choices=get_args(Unanswered),
        default="synthesize",
        metavar="WAY",
        help="what becomes of a call without a result: synthesize (default) or drop",
    )
    parser.add_argument(
        "--pending", action="append", default=[], metavar="ID", help="a call that is awaited: it stays; may be repeated"
    )


def run(options: argparse.Namespace) -> int:
    """Repair; returns the exit status."""
    given = RepairOptions(ScanOptions(pending_ids=tuple(options.pending)), options.unanswered)
    wanted = wanted_of(options)
    files, faults = inputs_of(options.paths, options.output)
    targets = plan_targets(files, options.output, options.paths)
    make_room(targets)
    show = _Printer(on_stderr=options.output == "-", as_json=options.json)
    failed = bool(faults)
    for fault in faults:
        show(_failed(fault, fault.path), fault)

    def rewrite(document: Document, target: Target) -> tuple[Outcomes[RepairRecord], bytes | None]:
        try:
            found = read_document(document, wanted)
        except TurnfoldError as error:
            index = None if document.is_log else document.index
            fault = fault_of_error(document.file.shown, index, error, document.data)
            return [(_failed(fault, fault.path), fault)], None
        if document.is_log:
            return [(_of_log(named, transcript, target, given), None) for named, transcript in found], document.data
        ((_, transcript),) = found
        mended, repairs = repair(transcript, given)
        record = _record(document, transcript, target, repairs, output=mended, given=given)
        return [(record, None)], mended.to_json() if repairs else document.data

    for target in targets:
        for record, problem in rewrite_file(target, wanted, rewrite, _failed):
            failed = failed or record.status == "failed"
            show(record, problem)
    return FOUND if failed else OK


def _record(
    document: Document,
    transcript: Transcript,
    target: Target,
    repairs: tuple[Repair, ...],
    *,
    output: Transcript,
    given: RepairOptions,
) -> RepairRecord:
    return RepairRecord(
        path=document.file.shown,
        index=document.index,
        id=document.id,
        format=transcript.format,
        status="repaired" if repairs else "clean",
        reason=None,
        text="",
        repairs=repairs,
        findings=len(scan(output, given.scan).findings),
        output=target.shown,
    )


def _of_log(document: Document, transcript: Transcript, target: Target, given: RepairOptions) -> RepairRecord:
    """Return the record of a transcript that stays in its log as it was."""
    _, repairs = repair(transcript, given)
    record = _record(document, transcript, target, repairs, output=transcript, given=given)
    if not repairs:
        return record
    text = "a log is not written with repairs"
    return msgspec.structs.replace(record, status="skipped", reason=NotWritableError.code, text=text)


def _failed(fault: Fault, path: str) -> RepairRecord:
    return RepairRecord(
        path=path,
        index=fault.index,
        id=None,
        format=None,
        status="failed",
        reason=fault.code,
        text=fault.text,
        repairs=(),
        findings=None,
        output=None,
    )


class _Printer:
    """Shows each record: JSON or rows on stdout, or lines on stderr where stdout has the transcripts."""

    def __init__(self, *, on_stderr: bool, as_json: bool) -> None:
        self._on_stderr = on_stderr
        self._as_json = as_json
        self._table = Table(
            (
                Column("transcript", 0),
                Column("format", 18),
                Column("repairs", 8, right=True),
                Column("findings left", 13, right=True),
                Column("result", 22),
            )
        )

    def __call__(self, record: RepairRecord, fault: Fault | None) -> None:
        if fault is not None:
            complain(fault.line())
        if self._as_json and self._on_stderr:
            complain(msgspec.json.encode(record).decode())
        elif self._as_json:
            write_record(record)
        elif fault is None and self._on_stderr:
            where = place(record.path, record.index, record.id)
            complain(f"turnfold: {where}: {record.status}, {amount(len(record.repairs), 'repair')}")
        elif fault is None:
            self._rows(record)

    def _rows(self, record: RepairRecord) -> None:
        result = record.status if record.reason is None else f"{record.status}: {record.reason}"
        cells = (
            place(record.path, record.index, record.id),
            record.format or "",
            number(len(record.repairs)),
            number(record.findings or 0),
            result,
        )
        self._table.row(cells, style="" if record.status in {"clean", "repaired"} else "yellow")
        for done in record.repairs:
            where = f"message {done.message}" + ("" if done.call_id is None else f", call {done.call_id}")
            write_text(f"  {done.code}: {where}: {done.text}")
