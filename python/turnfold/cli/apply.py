"""`turnfold apply`: carries out plans that `turnfold plan` made."""

import argparse

from turnfold.cli.compact import print_records
from turnfold.cli.faults import UsageError
from turnfold.cli.instructions import Instructions
from turnfold.cli.plan import read_plans
from turnfold.cli.reading import INPUTS_HELP, add_paths, wanted_of
from turnfold.model.plan import CompactionPlan, Skip
from turnfold.model.policy import OnRequest, Policy

SUMMARY = "carry out the plans of 'turnfold plan', offline"
USAGE = """\
turnfold apply PATH... --plan FILE -o OUT [--format NAME | --container NAME] [--column NAME] [--json]"""
DETAILS = f"""\
FILE holds the lines that 'turnfold plan' printed. Each transcript is known by its bytes: one that has changed since, or
that FILE does not name, fails with plan_mismatch and is not written; one with a reason instead of a plan is written
unchanged. Summaries are made by rule. OUT and the records
are those of 'turnfold compact'.

{INPUTS_HELP}

exit status: 0 every plan was carried out; 1 a transcript or file failed; 2 the command line is wrong, FILE and OUT
included (nothing was written)."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    parser.add_argument("--plan", metavar="FILE", required=True, help="what 'turnfold plan' printed, or - for stdin")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="folder, file or - for stdout")


def run(options: argparse.Namespace) -> int:
    """Apply; returns the exit status."""
    if options.plan == "-" and "-" in options.paths:
        raise UsageError("--plan -: PATH is stdin already; write the plans to a file")
    policy = Policy(OnRequest(), (), name="apply")
    return print_records(options, Instructions(policy, wanted=wanted_of(options), plans=_plans(options.plan)))


def _plans(path: str) -> dict[str, CompactionPlan | Skip]:
    return {record.source: record.plan for record in read_plans(path, "--plan")}
