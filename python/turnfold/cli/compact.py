"""`turnfold compact`: writes each transcript smaller, valid, and with its kept messages byte for byte."""

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path

import msgspec

from turnfold.cli.compact_record import CompactRecord, failed_record
from turnfold.cli.display import Column, Table, number, place, write_record
from turnfold.cli.faults import FOUND, OK, Fault, UsageError, complain
from turnfold.cli.inputs import InputFile, find_inputs
from turnfold.cli.instructions import Instructions
from turnfold.cli.outputs import files_read, make_room, out_is_file, plan_targets
from turnfold.cli.reading import INPUTS_HELP, add_encoding, add_paths, wanted_of
from turnfold.cli.split import whole_number
from turnfold.model.policy import Policy
from turnfold.model.state import PlanState
from turnfold.presets import BY_NAME

SUMMARY = "compact each transcript, offline, and write it to OUT"
USAGE = """\
turnfold compact PATH... -o OUT [--preset NAME] [--limit-tokens N] [--window-tokens N] [--keep-messages K]
                        [--set NAME=VALUE]... [--now] [--encoding NAME | --model NAME]
                        [--format NAME | --container NAME] [--column NAME] [--json]"""
DETAILS = f"""\
Old messages are replaced by one summary that is made by rule; nothing is sent anywhere. The result is scanned and
counted again before it is written. A transcript that is under the limit, or cannot be made smaller and valid, is
written unchanged, and its record says why it was skipped.

OUT is a folder that mirrors the names and sub-folders of the input; for one input file it may be a file of the same
kind (.json, .jsonl, as it is, .gz or .zst), and - writes to stdout (records then go to stderr). Each file is written
beside its place and moved into it when it is whole. The input is never overwritten, by whatever name OUT reaches it.
A transcript that cannot be read is reported and left out: its file is not written, its line in a .jsonl file stays
blank so that line numbers agree. A log is written in its own form, each compaction recorded the way its tool does it; a
transcript that this form cannot hold stays as it was (not_writable).

{INPUTS_HELP}

exit status: 0 every transcript was compacted or skipped; 1 a transcript or file failed; 2 the command line is wrong,
OUT included (nothing was written)."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="folder, file or - for stdout")
    add_policy(parser)
    add_encoding(parser)


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Add the options that make a policy."""
    parser.add_argument(
        "--preset",
        choices=sorted(BY_NAME),
        default="token_threshold",
        metavar="NAME",
        help=f"{', '.join(sorted(BY_NAME))}; default: token_threshold",
    )
    parser.add_argument("--limit-tokens", metavar="N", type=whole_number, help="compact above N tokens, down to N")
    parser.add_argument("--window-tokens", metavar="N", type=whole_number, help="the model's window, for its share")
    parser.add_argument("--keep-messages", metavar="K", type=whole_number, help="keep the last K messages; default: 4")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="another parameter of the preset; repeatable"
    )
    parser.add_argument("--now", action="store_true", help="compact whether or not the preset would fire")


def policy_of(options: argparse.Namespace) -> Policy:
    """Return the policy that the options describe; options that are not given have the preset's default."""
    preset = BY_NAME[options.preset]
    known = inspect.signature(preset).parameters
    given: dict[str, object] = {}
    for name in ("limit_tokens", "window_tokens", "keep_messages"):
        value: int | None = getattr(options, name)
        if value is None:
            continue
        if name not in known:
            raise UsageError(f"preset {options.preset} has no --{name.replace('_', '-')}")
        given[name] = value
    for setting in options.set:
        name, equals, text = setting.partition("=")
        if not equals or name not in known:
            raise UsageError(f"--set {setting[:40]}: preset {options.preset} has {', '.join(known)}")
        given[name] = _value(text)
    try:
        return preset(**given)
    except TypeError as error:
        raise UsageError(f"preset {options.preset}: {error}") from None


def has_limit(preset: str) -> bool:
    """Whether the preset fires at a number of tokens."""
    return "limit_tokens" in inspect.signature(BY_NAME[preset]).parameters


def _value(text: str) -> object:
    """Read a setting's value: JSON, or else a plain string."""
    try:
        value: object = msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return text
    return tuple(value) if isinstance(value, list) else value


def state_of(options: argparse.Namespace) -> PlanState:
    """Return what the options say beside the policy."""
    return PlanState(requested=options.now)


def run(options: argparse.Namespace) -> int:
    """Compact; returns the exit status."""
    wanted, state = wanted_of(options), state_of(options)
    return print_records(options, Instructions(policy_of(options), options.encoding, options.model, wanted, state))


def print_records(options: argparse.Namespace, instructions: Instructions) -> int:
    """Do as instructed to every file, and print what became of each transcript; returns the exit status."""
    from turnfold.cli.compaction import compact_file

    files, faults = inputs_of(options.paths, options.output)
    targets = plan_targets(files, options.output, options.paths, files_read(options))
    make_room(targets)
    show = _printer(options)
    failed = bool(faults)
    for fault in faults:
        show(failed_record(fault), fault)
    for target in targets:
        for record, problem in compact_file(target, instructions):
            failed = failed or record.status == "failed"
            show(record, problem)
    return FOUND if failed else OK


def inputs_of(paths: list[str], out: str) -> tuple[list[InputFile], list[Fault]]:
    """Return the files to compact, without those that already lie under OUT, and what could not be found."""
    folder = None if out == "-" or out_is_file(out, paths) else Path(out)
    files: list[InputFile] = []
    faults: list[Fault] = []
    for item in find_inputs(paths, leave_out=folder):
        if isinstance(item, Fault):
            faults.append(item)
        else:
            files.append(item)
    return files, faults


def _printer(options: argparse.Namespace) -> Callable[[CompactRecord, Fault | None], None]:
    """Return what shows each record: JSON or a row on stdout, or a line on stderr where stdout has the transcripts."""
    table = table_of_records()

    def show(record: CompactRecord, fault: Fault | None) -> None:
        if fault is not None:
            complain(fault.line())
        if options.output == "-":
            if options.json:
                complain(msgspec.json.encode(record).decode())
            elif fault is None:
                complain(f"turnfold: {place(record.path, record.index, record.id)}: {record.status}, {_change(record)}")
        elif options.json:
            write_record(record)
        elif fault is None:
            table.row(row_of(record), style="" if record.status == "compacted" else "yellow")

    return show


def _change(record: CompactRecord) -> str:
    if record.tokens is None:
        return record.text
    return f"{number(record.tokens.before)} -> {number(record.tokens.after)} tokens"


def table_of_records() -> Table:
    """Return the table for people."""
    return Table(
        (
            Column("transcript", 0),
            Column("format", 18),
            Column("messages", 13, right=True),
            Column("tokens", 17, right=True),
            Column("result", 28),
        )
    )


def row_of(record: CompactRecord) -> tuple[str, ...]:
    """Return a record as a row of that table."""
    messages, tokens = record.messages, record.tokens
    return (
        place(record.path, record.index, record.id),
        record.format or "",
        "" if messages is None else f"{number(messages.before)} -> {number(messages.after)}",
        "" if tokens is None else f"{number(tokens.before)} -> {number(tokens.after)}",
        record.status if record.reason is None else f"{record.status}: {record.reason}",
    )
