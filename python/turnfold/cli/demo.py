"""`turnfold demo`: compacts a folder of sample transcripts and shows what came of each."""

import argparse
from collections import Counter
from pathlib import Path

from turnfold.cli.compact import add_policy, has_limit, inputs_of, policy_of, state_of
from turnfold.cli.compact_record import CompactRecord
from turnfold.cli.display import Column, Table, number, place, write_text
from turnfold.cli.faults import FOUND, OK, UsageError, complain
from turnfold.cli.inputs import show
from turnfold.cli.instructions import Instructions
from turnfold.cli.outputs import make_room, plan_targets
from turnfold.meter import count

SUMMARY = "compact the bundled samples and print a table"
USAGE = """\
turnfold demo [FOLDER] [-o OUT] [--preset NAME] [--limit-tokens N] [--window-tokens N] [--keep-messages K]
                     [--set NAME=VALUE]... [--now]"""
LIMIT_TOKENS = 8_000
DETAILS = f"""\
Compacts every transcript of FOLDER (default: samples, of a checkout of the project) down to {LIMIT_TOKENS:,} tokens,
offline, and writes the results to OUT (default: demo-output). One row a transcript: messages and tokens before and
after, findings of a scan of what was written, identifiers (paths, names, numbers) kept of all that stood in what was
replaced, tokens at the start that a prompt cache still has, and milliseconds from the input's bytes to the output's,
the vocabulary being loaded.

exit status: 0 every transcript was compacted or skipped; 1 one failed; 2 the command line is wrong."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default="samples", help="default: samples")
    parser.add_argument("-o", "--output", metavar="OUT", default="demo-output", help="default: demo-output")
    add_policy(parser)


def run(options: argparse.Namespace) -> int:
    """Compact and show; returns the exit status."""
    from turnfold.cli.compaction import compact_file

    if not Path(options.folder).is_dir():
        raise UsageError(f"there is no folder {show(options.folder)}: run the demo in a checkout, or name a folder")
    if options.limit_tokens is None and options.window_tokens is None and has_limit(options.preset):
        options.limit_tokens = LIMIT_TOKENS
    files, faults = inputs_of([options.folder], options.output)
    targets = plan_targets(files, options.output, [options.folder])
    make_room(targets)
    instructions = Instructions(policy_of(options), state=state_of(options))
    count("")  # The vocabulary is unpacked once; no transcript's milliseconds should have that in them.
    table = _table()
    records: list[CompactRecord] = []
    for fault in faults:
        complain(fault.line())
    for target in targets:
        for record, problem in compact_file(target, instructions):
            records.append(record)
            if problem is not None:
                complain(problem.line())
            table.row(_row(record, Path(options.folder)), style="" if record.status == "compacted" else "yellow")
    if records:
        table.rule()
        table.row(_sums(records), style="bold")
    skipped = Counter(record.reason for record in records if record.status == "skipped")
    if skipped:
        reasons = ", ".join(f"{times} {reason}" for reason, times in skipped.items())
        write_text(
            f"Skipped, and written unchanged: {reasons} (the limit is {number(options.limit_tokens or 0)} tokens)."
        )
    write_text("")
    write_text(f"The compacted transcripts are in {show(options.output)}/; read one, or compare it with its original:")
    example = next((r for r in records if r.status == "compacted"), None)
    if example is not None and example.output is not None:
        write_text(f"  turnfold prefix {example.path} {example.output}")
    failed = bool(faults) or any(record.status == "failed" for record in records)
    return FOUND if failed else OK


def _table() -> Table:
    return Table(
        (
            Column("transcript", 0),
            Column("format", 18),
            Column("messages", 11, right=True),
            Column("tokens", 16, right=True),
            Column("findings", 8, right=True),
            Column("ids kept", 8, right=True),
            Column("cache kept", 10, right=True),
            Column("ms", 6, right=True),
        ),
        rule=True,
    )


def _row(record: CompactRecord, folder: Path) -> tuple[str, ...]:
    name = place(record.path, record.index).removeprefix(f"{show(str(folder))}/")
    milliseconds = f"{record.seconds * 1000:.1f}"
    if record.messages is None or record.tokens is None:
        return (name, record.format or "", "", f"{record.status}", record.reason or "", "", "", milliseconds)
    before, after = record.tokens.before, record.tokens.after
    if record.status == "skipped":
        changed = (number(record.messages.before), number(before))
        return (name, record.format or "", *changed, str(record.findings or 0), "", "", milliseconds)
    identifiers, prefix = record.identifiers, record.prefix
    return (
        name,
        record.format or "",
        f"{number(record.messages.before)} → {number(record.messages.after)}",
        f"{number(before)} → {number(after)}",
        str(record.findings or 0),
        "" if identifiers is None else f"{identifiers.kept}/{identifiers.all}",
        "" if prefix is None else number(prefix.tokens),
        milliseconds,
    )


def _sums(records: list[CompactRecord]) -> tuple[str, ...]:
    tokens = [record.tokens for record in records if record.tokens is not None]
    messages = [record.messages for record in records if record.messages is not None]
    identifiers = [record.identifiers for record in records if record.identifiers is not None]
    compacted = sum(record.status == "compacted" for record in records)
    return (
        f"{len(records)} transcripts, {compacted} compacted",
        "",
        f"{number(sum(m.before for m in messages))} → {number(sum(m.after for m in messages))}",
        f"{number(sum(t.before for t in tokens))} → {number(sum(t.after for t in tokens))}",
        str(sum(record.findings or 0 for record in records)),
        f"{sum(i.kept for i in identifiers)}/{sum(i.all for i in identifiers)}",
        number(sum(record.prefix.tokens for record in records if record.prefix is not None)),
        f"{sum(record.seconds for record in records) * 1000:.0f}",
    )
