"""`turnfold plan`: what a compaction would do to each transcript, as JSON."""

import argparse

import msgspec

from turnfold.cli.compact import add_policy, policy_of, state_of
from turnfold.cli.display import write_record
from turnfold.cli.faults import OK, UNREADABLE, Fault, FaultLog
from turnfold.cli.reading import INPUTS_HELP, add_encoding, add_paths, read_transcripts, wanted_of
from turnfold.errors import UnknownWindowError
from turnfold.model.plan import CompactionPlan, Skip
from turnfold.planning.plan import plan

SUMMARY = "say what a compaction would do, as JSON"
USAGE = """\
turnfold plan PATH... [--preset NAME] [--limit-tokens N] [--window-tokens N] [--keep-messages K]
                     [--set NAME=VALUE]... [--now] [--encoding NAME | --model NAME]
                     [--format NAME | --container NAME] [--json]"""
DETAILS = f"""\
One line of JSON a transcript, in any case: its plan, or the reason why there is none. A plan says what becomes of each
message, what the result counts at most, and which transcript it was made for. 'turnfold apply' carries it out.

{INPUTS_HELP}

exit status: 0 every transcript has a plan or a reason; 2 a path could not be read, or the command line is wrong."""


class PlanRecord(msgspec.Struct, frozen=True):
    """One line of `turnfold plan`. `source` is the transcript's fingerprint; `plan` a plan or a skip, by its `type`."""

    path: str
    index: int
    id: str | None
    format: str
    source: str
    plan: CompactionPlan | Skip


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    add_policy(parser)
    add_encoding(parser)


def run(options: argparse.Namespace) -> int:
    """Plan; returns the exit status."""
    policy, state = policy_of(options), state_of(options)
    faults = FaultLog()
    for document, transcript in read_transcripts(options.paths, wanted_of(options), faults):
        try:
            found = plan(transcript, policy, encoding=options.encoding, model=options.model, state=state)
        except UnknownWindowError as error:
            advice = "give --limit-tokens or --window-tokens"
            text = "the model's window is not known"
            faults.report(Fault(document.file.shown, document.index, error.code, text, advice))
            continue
        place = document.file.shown, document.index, document.id
        write_record(PlanRecord(*place, transcript.format, transcript.fingerprint, found))
    return UNREADABLE if faults.count else OK
