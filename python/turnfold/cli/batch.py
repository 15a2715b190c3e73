"""`turnfold batch`: compacts many files side by side, in a run that can be stopped and gone on with."""

import argparse
import contextlib
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from turnfold._core import __version__
from turnfold.cli.batch_model import add_model, amount, hosted_of, limits_of
from turnfold.cli.batch_totals import Totals
from turnfold.cli.compact import add_policy, inputs_of, policy_of, state_of
from turnfold.cli.compact_record import CompactRecord, failed_record
from turnfold.cli.display import number, write_record, write_records, write_text
from turnfold.cli.faults import FOUND, INTERRUPTED, OK, UsageError, complain, printable
from turnfold.cli.inputs import InputFile
from turnfold.cli.instructions import Instructions
from turnfold.cli.outputs import Target, files_read, make_room, out_is_file, plan_targets
from turnfold.cli.progress import progress
from turnfold.cli.reading import INPUTS_HELP, add_encoding, add_paths, wanted_of
from turnfold.cli.split import whole_number
from turnfold.errors import JournalError
from turnfold.model.policy import Policy
from turnfold.model.price import Price
from turnfold.model.summary import NO_USAGE

if TYPE_CHECKING:
    from turnfold.batch.journal import Journal
    from turnfold.batch.limits import BatchLimits
    from turnfold.cli.batch_files import BatchRun, Reported
    from turnfold.summarizers.anthropic import Anthropic
    from turnfold.summarizers.openai_compatible import OpenAICompatible

SUMMARY = "compact many files side by side, in a run that can go on after a stop"
USAGE = """\
turnfold batch PATH... -o OUT [--resume | --restart] [--journal FILE] [--concurrency N] [--max-failures N]
                      [--stop-after-seconds S] [--report FILE.html]
                      [--summarizer openai:MODEL | anthropic:MODEL] [--base-url URL] [--deadline-seconds S]
                      [--requests-per-minute N] [--tokens-per-minute N] [--price IN,OUT] [--max-cost M]
                      [--preset NAME] [--limit-tokens N] [--window-tokens N] [--keep-messages K]
                      [--set NAME=VALUE]... [--now] [--encoding NAME | --model NAME]
                      [--format NAME | --container NAME] [--column NAME] [--json]
turnfold batch PATH... --dry-run [...]"""
DETAILS = f"""\
Does what 'turnfold compact' does, to as many transcripts at once as --concurrency says, and keeps a journal:
OUT/.turnfold-journal, or the file that --journal names. A run that was stopped, by Ctrl-C or by a kill at any moment,
goes on with --resume: nothing that is in the journal is done again, and no output is ever half there. --restart begins
anew. Two runs may share a journal: each takes the files that the other has not.

Summaries are made by rule, offline, unless --summarizer names a model behind OpenAI's API (or one like it, at
--base-url) or Anthropic's; the key is taken from OPENAI_API_KEY or ANTHROPIC_API_KEY. A request that was answered once
is not asked again, in this run or a later one. Where a model fails, or takes longer than --deadline-seconds for a
transcript, its summary is made by rule: the record says by which method it is, and who was tried. --requests-per-minute
and --tokens-per-minute hold for all transcripts together, and so does --max-cost: at --price for a million tokens of
prompts and of replies, no request is made that could go over it. After --stop-after-seconds no further transcript is
begun.

Failures are told on stderr as they come, progress as well; --json prints the record of each transcript, as
'turnfold compact --json' does, as it is written. --report writes one HTML file that needs no network.
--dry-run writes nothing: it says how many tokens a run would save, how often a model would be asked, and what that
costs at most.

{INPUTS_HELP}

exit status: 0 every transcript was compacted or skipped; 1 a transcript or file failed, or --max-failures or
--stop-after-seconds was reached; 2 the command line is wrong, OUT and the journal included (nothing was written);
130 stopped by Ctrl-C, 143 by SIGTERM, 129 by the end of its terminal."""

_JOURNAL: Final = ".turnfold-journal"
_MUCH_BYTES: Final = 8_000_000
"""From so many bytes on, work by rule is done in processes: to start one takes as long as some hundred kilobytes."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="folder, or file for one input")
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--resume", action="store_true", help="go on with the run that the journal is of")
    begin.add_argument("--restart", action="store_true", help="forget that run, and begin anew")
    begin.add_argument("--dry-run", action="store_true", help="write nothing; say what a run would save")
    parser.add_argument("--journal", metavar="FILE", help=f"where the journal is kept; default: OUT/{_JOURNAL}")
    parser.add_argument(
        "--concurrency",
        metavar="N",
        type=whole_number,
        help="transcripts at once; default: processors, 16 with a model",
    )
    parser.add_argument("--max-failures", metavar="N", type=whole_number, help="stop when more than N have failed")
    parser.add_argument("--stop-after-seconds", metavar="S", type=amount, help="begin no transcript after so long")
    add_model(parser)
    parser.add_argument("--report", metavar="FILE", help="write an HTML report of all that the journal holds")
    add_policy(parser)
    add_encoding(parser)


def run(options: argparse.Namespace) -> int:
    """Compact; returns the exit status."""
    policy = policy_of(options)
    hosted = hosted_of(options)
    limits = limits_of(options)
    if options.dry_run:
        return _dry_run(options, policy)
    if options.output is None or options.output == "-":
        raise UsageError("-o OUT is missing: name a folder" if options.output is None else "a batch writes to files")
    files, faults = inputs_of(options.paths, options.output)
    journal_path = _journal_path(options)
    written = {"--journal": str(journal_path)}
    if options.report is not None:
        written["--report"] = options.report
    targets = plan_targets(files, options.output, options.paths, files_read(options), written)
    make_room(targets)
    for name in written.values():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
    _make_ready(options, journal_path)
    missing = [failed_record(fault) for fault in faults]
    for fault, record in zip(faults, missing, strict=True):
        complain(fault.line())
        if options.json:
            write_record(record)
    instructions = Instructions(policy, options.encoding, options.model, wanted_of(options), state_of(options))
    status = _run(options, instructions, targets, journal_path, limits=limits, hosted=hosted, missing=missing)
    return FOUND if faults and status == OK else status


def _journal_path(options: argparse.Namespace) -> Path:
    if options.journal is not None:
        return Path(options.journal)
    out = Path(options.output)
    return out.with_name(f".{out.name}{_JOURNAL}") if out_is_file(options.output, options.paths) else out / _JOURNAL


def _make_ready(options: argparse.Namespace, path: Path) -> None:
    """Remove the journal of an earlier run, if that is what was asked for. It writes nothing else."""
    if not path.exists():
        return
    if not options.restart:
        if options.resume:
            return
        raise UsageError(f"there is the journal of an earlier run, {path}: say --resume or --restart")
    from turnfold.batch.journal import remove_journal

    try:
        # A damaged one is known by its name alone.
        remove_journal(path, damaged=path.name.endswith(_JOURNAL))
    except JournalError as error:
        raise UsageError(f"{error.text} (remove it, if it is one)" if error.stale else error.text) from None


def _run(
    options: argparse.Namespace,
    instructions: Instructions,
    targets: list[Target],
    journal_path: Path,
    *,
    limits: "BatchLimits",
    hosted: "OpenAICompatible | Anthropic | None",
    missing: list[CompactRecord],
) -> int:
    from turnfold.batch.journal import Journal
    from turnfold.cli.batch_files import BatchRun, TooManyFailuresError
    from turnfold.cli.batch_work import OutOfTimeError

    try:
        opened = Journal(journal_path, _digest(options, instructions.policy))
    except JournalError as error:
        raise UsageError(f"{error.text} (--restart begins anew)" if error.stale else error.text) from None
    with opened as journal:
        size = sum(_size_of(target.file) for target in targets)
        going = BatchRun(targets, instructions, journal, max_failures=options.max_failures)
        ended = OK
        with progress(size) as shown:

            def tell(reported: "list[Reported]") -> None:
                for one in reported:
                    for fault in one.faults:
                        complain(fault.line())
                    if options.json:
                        write_records(one.records)
                shown.show(going.totals)
                going.check_failures()

            try:
                if hosted is None:
                    _by_rule(going, instructions, limits, tell, in_processes=_is_much(size, targets), size=size)
                else:
                    _asking(going, instructions, limits, tell, hosted=hosted, journal=journal)
            except TooManyFailuresError:
                ended = FOUND
                complain(f"turnfold batch: stopped after {number(going.totals.failed)} failures; --resume goes on")
            except OutOfTimeError:
                ended = FOUND
                complain("turnfold batch: stopped, its time is up; what is done is kept, and --resume goes on with it")
            except JournalError as error:
                ended = FOUND
                complain(f"turnfold batch: stopped: {printable(error.text)}; --resume goes on once it can be")
            except KeyboardInterrupt:
                ended = INTERRUPTED
                complain("turnfold batch: stopped; what is done is kept, and --resume goes on with it")
        _tell_totals(options, going.totals)
        if options.report is not None:
            from turnfold.cli.batch_report import write_report

            write_report(Path(options.report), journal, going.totals, [*missing, *going.unread], options.price)
    return FOUND if going.totals.failed and ended == OK else ended


def _by_rule(
    going: "BatchRun",
    instructions: Instructions,
    limits: "BatchLimits",
    tell: "Callable[[list[Reported]], None]",
    *,
    in_processes: bool,
    size: int,
) -> None:
    from turnfold.cli.batch_work import ByRule, uninterrupted

    working = ByRule(going.tasks(), instructions, limits, in_processes=in_processes, size=size)

    def work() -> None:
        with going.under_way(), working:
            for some in working:
                tell(going.write(some))

    uninterrupted(work, working.stop)


def _asking(
    going: "BatchRun",
    instructions: Instructions,
    limits: "BatchLimits",
    tell: "Callable[[list[Reported]], None]",
    *,
    hosted: "OpenAICompatible | Anthropic",
    journal: "Journal",
) -> None:
    import anyio
    import anyio.to_thread

    from turnfold.cli.batch_asked import asked

    async def work() -> None:
        async with hosted:
            with going.under_way():
                concluded = asked(going.tasks(), instructions, limits, hosted, journal)
                async with contextlib.aclosing(concluded):
                    async for some in concluded:
                        tell(await anyio.to_thread.run_sync(going.write, some))

    anyio.run(work)


def _is_much(size: int, targets: list[Target]) -> bool:
    """Whether it is worth to start processes; of what comes by a pipe nobody knows how much it is."""
    return size >= _MUCH_BYTES or any(target.file.path is None for target in targets)


def _size_of(file: InputFile) -> int:
    """Bytes to read: 0 where nobody can know."""
    try:
        return file.path.stat().st_size if file.path is not None and file.path.is_file() else 0
    except OSError:
        return 0


def _digest(options: argparse.Namespace, policy: Policy) -> str:
    """The digest of everything but the input that decides the output."""
    told = (
        *(options.encoding, options.model, options.format, options.container, options.column),
        *(options.now, options.summarizer),
    )
    digest = hashlib.blake2b(digest_size=16)
    for part in (__version__, msgspec.json.encode(policy).decode(), repr(told), repr(options.base_url)):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _tell_totals(options: argparse.Namespace, totals: Totals) -> None:
    say = complain if options.json else write_text
    for line in lines_of(totals, options.price):
        say(line)


def lines_of(totals: Totals, price: Price | None = None) -> Iterator[str]:
    """What a run has come to, in a few lines."""
    counts = ", ".join(f"{number(count)} {status}" for status, count in sorted(totals.statuses.items()))
    yield f"{counts or 'nothing to do'}: {number(totals.tokens_before)} -> {number(totals.tokens_after)} tokens"
    if totals.reasons:
        yield "  " + ", ".join(f"{number(count)} {reason}" for reason, count in totals.reasons.most_common())
    rate = totals.documents / totals.seconds if totals.seconds else 0.0
    speed = totals.bytes / totals.seconds / 1e6 if totals.seconds else 0.0
    parts = [f"{number(totals.documents)} documents of {number(totals.files)} files in {totals.seconds:.1f} s"]
    parts.append(f"{rate:,.0f} a second, {speed:,.1f} MB/s")
    if totals.resumed:
        parts.append(f"{number(totals.resumed)} documents were done before")
    if totals.elsewhere:
        parts.append(f"{number(totals.elsewhere)} files are with another run")
    if totals.reused:
        parts.append(f"{number(totals.reused)} summaries were used again")
    yield "  " + "; ".join(parts)
    if totals.usage != NO_USAGE:
        used = totals.usage
        prompt, reply = number(used.prompt_tokens), number(used.completion_tokens)
        cost = "" if price is None else f", which cost {price.of(used):,.4f}"
        yield f"  models used {prompt} tokens of prompts and {reply} of replies{cost}"


def _dry_run(options: argparse.Namespace, policy: Policy) -> int:
    files, missing = inputs_of(options.paths, options.output or "-")
    from turnfold.cli.batch_plan import dry_run

    totals, cost = dry_run(options, policy, files, missing)
    for line in (*lines_of(totals), *cost.lines(options.price, by_rule=options.summarizer is None)):
        write_text(line)
    write_text("  nothing was written; tokens after compaction are upper limits")
    return FOUND if totals.failed else OK
