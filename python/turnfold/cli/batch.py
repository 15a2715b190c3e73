"""`turnfold batch`: compacts many files side by side, in a run that can be stopped and gone on with."""

import argparse
import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

import msgspec

from turnfold._core import __version__
from turnfold.cli.batch_files import BatchRun, TooManyFailuresError, Totals
from turnfold.cli.compact import add_policy, inputs_of, policy_of, state_of
from turnfold.cli.compaction import Instructions, failed_record
from turnfold.cli.display import number, write_record, write_text
from turnfold.cli.faults import FOUND, INTERRUPTED, OK, FaultLog, UsageError, complain, printable
from turnfold.cli.inputs import InputFile
from turnfold.cli.outputs import Target, make_room, out_is_file, plan_targets
from turnfold.cli.plan import plans_of
from turnfold.cli.progress import progress
from turnfold.cli.reading import INPUTS_HELP, add_encoding, add_paths, wanted_of
from turnfold.cli.split import whole_number
from turnfold.errors import JournalError
from turnfold.model.plan import Skip, SummaryHole
from turnfold.model.policy import Policy
from turnfold.planning.apply import CompactionResult
from turnfold.transcript import Transcript

if TYPE_CHECKING:
    from turnfold.batch.journal import Journal
    from turnfold.batch.remembered import Remembered
    from turnfold.summarizers.anthropic import Anthropic
    from turnfold.summarizers.openai_compatible import OpenAICompatible
    from turnfold.summarizers.protocol import Summarizer

SUMMARY = "compact many files side by side, in a run that can go on after a stop"
USAGE = """\
turnfold batch PATH... -o OUT [--resume | --restart] [--journal FILE] [--concurrency N] [--max-failures N]
                      [--summarizer openai:MODEL | anthropic:MODEL] [--base-url URL] [--deadline-seconds S]
                      [--calls-per-minute N] [--tokens-per-minute N] [--report FILE.html]
                      [--preset NAME] [--limit-tokens N] [--window-tokens N] [--keep-messages K]
                      [--set NAME=VALUE]... [--now] [--encoding NAME | --model NAME]
                      [--format NAME | --container NAME] [--json]
turnfold batch PATH... --dry-run [...]"""
DETAILS = f"""\
Does what 'turnfold compact' does, to as many transcripts at once as --concurrency says, and keeps a journal:
OUT/.turnfold-journal, or the file that --journal names. A run that was stopped, by Ctrl-C or by a kill at any moment,
goes on with --resume: nothing that is in the journal is done again, and no output is ever half there. --restart begins
anew. Two runs may share a journal: each takes the files that the other has not.

Summaries are made by rule, offline, unless --summarizer names a model behind OpenAI's API (or one like it, at
--base-url) or Anthropic's; the key is taken from OPENAI_API_KEY or ANTHROPIC_API_KEY. A request that was answered once
is not asked again, in this run or a later one. Where a model fails, or takes longer than --deadline-seconds for a
transcript, its summary is made by rule, and the record's method says so.

Failures are told on stderr as they come, progress as well; --json prints the record of each transcript, as
'turnfold compact --json' does, as it is written. --report writes one HTML file that needs no network.
--dry-run writes nothing: it says how many tokens a run would save.

{INPUTS_HELP}

exit status: 0 every transcript was compacted or skipped; 1 a transcript or file failed, or --max-failures was reached;
2 the command line is wrong, OUT and the journal included (nothing was written); 130 stopped by Ctrl-C."""

_JOURNAL: Final = ".turnfold-journal"
_MODEL_CONCURRENCY: Final = 16
_DEADLINE_SECONDS: Final = 120.0


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
    parser.add_argument("--summarizer", metavar="API:MODEL", help="openai:MODEL or anthropic:MODEL; default: by rule")
    parser.add_argument("--base-url", metavar="URL", help="of a server with the same API")
    parser.add_argument(
        "--deadline-seconds", metavar="S", type=float, default=_DEADLINE_SECONDS, help="for a transcript; default: 120"
    )
    parser.add_argument("--calls-per-minute", metavar="N", type=whole_number, help="of the model")
    parser.add_argument("--tokens-per-minute", metavar="N", type=whole_number, help="of the model")
    parser.add_argument("--report", metavar="FILE", help="write an HTML report of all that the journal holds")
    add_policy(parser)
    add_encoding(parser)


def run(options: argparse.Namespace) -> int:
    """Compact; returns the exit status."""
    policy = policy_of(options)
    if options.dry_run:
        return _dry_run(options, policy)
    if options.output is None or options.output == "-":
        raise UsageError("-o OUT is missing: name a folder" if options.output is None else "a batch writes to files")
    if options.concurrency == 0:
        raise UsageError("--concurrency must be at least 1")
    hosted = _hosted(options)
    files, faults = inputs_of(options.paths, options.output)
    targets = plan_targets(files, options.output, options.paths)
    journal_path = _journal_path(options)
    make_room(targets)
    journal_path.parent.mkdir(parents=True, exist_ok=True)
    _check_journal(options, journal_path)
    for fault in faults:
        complain(fault.line())
        if options.json:
            write_record(failed_record(fault))
    instructions = Instructions(policy, options.encoding, options.model, wanted_of(options), state_of(options))
    status = _run(options, instructions, targets, journal_path, hosted)
    return FOUND if faults and status == OK else status


def _journal_path(options: argparse.Namespace) -> Path:
    if options.journal is not None:
        return Path(options.journal)
    out = Path(options.output)
    return out.with_name(f".{out.name}{_JOURNAL}") if out_is_file(options.output, options.paths) else out / _JOURNAL


def _check_journal(options: argparse.Namespace, path: Path) -> None:
    if options.restart:
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)
    elif path.exists() and not options.resume:
        raise UsageError(f"there is the journal of an earlier run, {path}: say --resume or --restart")


def _run(
    options: argparse.Namespace,
    instructions: Instructions,
    targets: list[Target],
    journal_path: Path,
    hosted: "OpenAICompatible | Anthropic | None",
) -> int:
    import anyio

    from turnfold.batch.journal import Journal

    try:
        opened = Journal(journal_path, _digest(options, instructions.policy))
    except JournalError as error:
        raise UsageError(f"{error.text} (--restart begins anew)") from None
    with opened as journal:
        summarizer = None if hosted is None else _limited(options, hosted)
        remembered, going = _batch(options, instructions, journal, targets, summarizer)
        size = sum(_size_of(target.file) for target in targets)
        ended = OK
        with progress(size) as shown:

            async def work() -> None:
                async with contextlib.AsyncExitStack() as closing:
                    if hosted is not None:
                        await closing.enter_async_context(hosted)
                    outcomes = await closing.enter_async_context(contextlib.aclosing(going.outcomes()))
                    async for record, fault in outcomes:
                        if fault is not None:
                            complain(fault.line())
                        if options.json:
                            write_record(record)
                        shown.show(going.totals)

            try:
                anyio.run(work)
            except TooManyFailuresError:
                ended = FOUND
                complain(f"turnfold batch: stopped after {number(going.totals.failed)} failures; --resume goes on")
            except JournalError as error:
                ended = FOUND
                complain(f"turnfold batch: stopped: {printable(error.text)}; --resume goes on once it can be")
            except KeyboardInterrupt:
                ended = INTERRUPTED
                complain("turnfold batch: stopped; what is done is kept, and --resume goes on with it")
        _tell_totals(options, going.totals, 0 if remembered is None else remembered.reused)
        if options.report is not None:
            from turnfold.cli.batch_report import write_report

            write_report(Path(options.report), journal, going.totals)
    return FOUND if going.totals.failed and ended == OK else ended


def _size_of(file: InputFile) -> int:
    """Bytes to come: 0 where nobody can know, as of what is packed."""
    if file.path is None or file.path.suffix.lower() == ".gz" or not file.path.is_file():
        return 0
    return file.path.stat().st_size


def _batch(
    options: argparse.Namespace,
    instructions: Instructions,
    journal: "Journal",
    targets: list[Target],
    summarizer: "Summarizer | None",
) -> "tuple[Remembered | None, BatchRun]":
    concurrency = options.concurrency or (os.cpu_count() or 1 if summarizer is None else _MODEL_CONCURRENCY)
    remembered = None
    if summarizer is not None:
        from turnfold.batch.remembered import Remembered

        remembered = Remembered(summarizer, journal, f"{options.summarizer} {options.base_url}")
        instructions = replace(instructions, compacting=_asking(options, remembered))
    return remembered, BatchRun(
        targets, instructions, journal, concurrency=concurrency, max_failures=options.max_failures
    )


def _asking(
    options: argparse.Namespace, summarizer: "Remembered"
) -> Callable[[Transcript, Policy], CompactionResult | Skip]:
    """Return what compacts a transcript from a worker thread, with its calls on the event loop."""
    import anyio.from_thread

    from turnfold.compactor import compact

    def compacting(transcript: Transcript, policy: Policy) -> CompactionResult | Skip:
        return anyio.from_thread.run(
            partial(
                compact,
                transcript,
                policy,
                summarizer,
                deadline_seconds=options.deadline_seconds,
                encoding=options.encoding,
                model=options.model,
                state=state_of(options),
            )
        )

    return compacting


def _hosted(options: argparse.Namespace) -> "OpenAICompatible | Anthropic | None":
    """Return the model that the options name. Used as a context manager, it keeps its connections."""
    if options.summarizer is None:
        for name in ("base_url", "calls_per_minute", "tokens_per_minute"):
            if getattr(options, name) is not None:
                raise UsageError(f"--{name.replace('_', '-')} is for a --summarizer")
        return None
    api, colon, model = options.summarizer.partition(":")
    if not colon or not model or api not in {"openai", "anthropic"}:
        raise UsageError(f"--summarizer {options.summarizer[:40]}: say openai:MODEL or anthropic:MODEL")
    if api == "openai":
        from turnfold.summarizers.openai_compatible import OpenAICompatible

        return OpenAICompatible(model, base_url=options.base_url)
    from turnfold.summarizers.anthropic import Anthropic

    return Anthropic(model, base_url=options.base_url)


def _limited(options: argparse.Namespace, summarizer: "Summarizer") -> "Summarizer":
    from turnfold.summarizers.limited import Limited
    from turnfold.summarizers.rate_limit import RateLimit

    if options.calls_per_minute is None and options.tokens_per_minute is None:
        return summarizer
    rate = RateLimit(requests_per_minute=options.calls_per_minute, tokens_per_minute=options.tokens_per_minute)
    return Limited(summarizer, rate=rate)


def _digest(options: argparse.Namespace, policy: Policy) -> str:
    """The digest of everything but the input that decides the output."""
    told = (options.encoding, options.model, options.format, options.container, options.now, options.summarizer)
    digest = hashlib.blake2b(digest_size=16)
    for part in (__version__, msgspec.json.encode(policy).decode(), repr(told), repr(options.base_url)):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _tell_totals(options: argparse.Namespace, totals: Totals, reused: int) -> None:
    say = complain if options.json else write_text
    for line in lines_of(totals, reused):
        say(line)


def lines_of(totals: Totals, reused: int = 0) -> Iterator[str]:
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
    if reused:
        parts.append(f"{number(reused)} summaries were used again")
    yield "  " + "; ".join(parts)


def _dry_run(options: argparse.Namespace, policy: Policy) -> int:
    """Plan everything, and say what a run would save."""
    faults, totals = FaultLog(), Totals()
    files, missing = inputs_of(options.paths, options.output or "-")
    for fault in missing:
        faults.report(fault)
    begun = perf_counter()
    summaries = 0
    for document, _, found in plans_of(files, options, policy, faults):
        totals.documents += 1
        totals.bytes += len(document.data)
        totals.tokens_before += found.before.n
        if isinstance(found, Skip):
            totals.statuses["skipped"] += 1
            totals.reasons[found.reason] += 1
            totals.tokens_after += found.before.n
        else:
            totals.statuses["compacted"] += 1
            totals.tokens_after += found.tokens_at_most
            summaries += sum(isinstance(tile, SummaryHole) for tile in found.tiles)
    totals.seconds = perf_counter() - begun
    totals.failed = faults.count
    totals.statuses["failed"] += faults.count
    totals.files = len(files)
    for line in lines_of(totals):
        write_text(line)
    write_text(f"  {number(summaries)} summaries at most; nothing was written, and no tokens after are more than that")
    return FOUND if faults.count else OK
