"""`turnfold plan`: what a compaction would do to each transcript, as JSON."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from turnfold.cli.compact import add_policy, policy_of, state_of
from turnfold.cli.display import write_record
from turnfold.cli.faults import FOUND, OK, UNREADABLE, Fault, FaultLog, UsageError, complain
from turnfold.cli.inputs import Document, InputFile, find_inputs
from turnfold.cli.instructions import WINDOW_ADVICE
from turnfold.cli.reading import INPUTS_HELP, add_encoding, add_paths, read_files, wanted_of
from turnfold.errors import UnknownWindowError
from turnfold.model.decodable import decodable
from turnfold.model.difference import PlanDifference
from turnfold.model.plan import CompactionPlan, Skip
from turnfold.model.policy import Policy
from turnfold.transcript import Transcript

SUMMARY = "say what a compaction would do, as JSON"
USAGE = """\
turnfold plan PATH... [--preset NAME] [--limit-tokens N] [--window-tokens N] [--keep-messages K]
                     [--set NAME=VALUE]... [--now] [--encoding NAME | --model NAME]
                     [--format NAME | --container NAME] [--column NAME] [--json]
turnfold plan --diff A B"""
DETAILS = f"""\
One line of JSON a transcript, in any case: its plan, or the reason why there is none. A plan says what becomes of each
message, what the result counts at most, and which transcript it was made for. 'turnfold apply' carries it out.

With --diff, A and B are files of such lines. For each transcript that both know: which messages fare otherwise in B,
and which settings differ. One that only one of them knows is reported on stderr.

{INPUTS_HELP}

exit status: 0 every transcript has a plan or a reason (--diff: nothing differs); 1 --diff: something differs; 2 a path
could not be read, or the command line is wrong."""


class PlanRecord(msgspec.Struct, frozen=True):
    """One line of `turnfold plan`. `source` is the transcript's fingerprint; `plan` a plan or a skip, by its `type`."""

    path: str
    index: int
    id: str | None
    format: str
    source: str
    plan: CompactionPlan | Skip


class DifferenceRecord(msgspec.Struct, frozen=True):
    """One line of `turnfold plan --diff`: a transcript, and how its two plans differ."""

    path: str
    index: int
    id: str | None
    source: str
    same: bool
    difference: PlanDifference


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser, least="*")
    parser.add_argument("--diff", metavar=("A", "B"), nargs=2, help="compare what two runs of this command printed")
    add_policy(parser)
    add_encoding(parser)


def run(options: argparse.Namespace) -> int:
    """Plan, or compare plans; returns the exit status."""
    if options.diff is not None:
        if options.paths:
            raise UsageError("--diff takes two files and no PATH")
        if options.diff == ["-", "-"]:
            raise UsageError("--diff: only one of the two can be stdin")
        return _print_differences(*options.diff)
    if not options.paths:
        raise UsageError("a PATH is missing")
    faults = FaultLog()
    for document, transcript, found in plans_of(find_inputs(options.paths), options, policy_of(options), faults):
        place = document.file.shown, document.index, document.id
        write_record(PlanRecord(*place, transcript.format, transcript.fingerprint, found))
    return UNREADABLE if faults.count else OK


def plans_of(
    files: Iterable[InputFile | Fault], options: argparse.Namespace, policy: Policy, faults: FaultLog
) -> Iterator[tuple[Document, Transcript, CompactionPlan | Skip]]:
    """Plan each transcript of the files that can be read; each fault is reported in its place."""
    from turnfold.planning.plan import plan

    state = state_of(options)
    for document, transcript in read_files(files, wanted_of(options), faults):
        try:
            found = plan(transcript, policy, encoding=options.encoding, model=options.model, state=state)
        except UnknownWindowError as error:
            text = "the model's window is not known"
            faults.report(Fault(document.file.shown, document.index, error.code, text, WINDOW_ADVICE))
            continue
        yield document, transcript, found


def read_plans(path: str, option: str) -> list[PlanRecord]:
    """Read the lines that this command printed, from stdin where PATH is `-`.

    Raises `UsageError`, which names the option that PATH was given to.
    """
    try:
        lines = (sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()).splitlines()
        return [msgspec.json.decode(line, type=decodable(PlanRecord)) for line in lines if line.strip()]
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise UsageError(f"{option} {path}: not what turnfold plan prints: {error}") from None


def _print_differences(first: str, second: str) -> int:
    from turnfold.planning.difference import diff_plans

    one, other = ({record.source: record for record in read_plans(path, "--diff")} for path in (first, second))
    status = OK
    for source, record in one.items():
        if source not in other:
            complain(f"turnfold plan: {record.path}: {second} has no plan for it")
            status = FOUND
            continue
        difference = diff_plans(record.plan, other[source].plan)
        write_record(DifferenceRecord(record.path, record.index, record.id, source, difference.same, difference))
        status = status if difference.same else FOUND
    for source, record in other.items():
        if source not in one:
            complain(f"turnfold plan: {record.path}: {first} has no plan for it")
            status = FOUND
    return status
