"""The `turnfold` program: options, commands, exit statuses."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from turnfold._core import __version__
from turnfold.cli import apply, batch, compact, count, demo, plan, prefix, repair, scan, split
from turnfold.cli.faults import BROKEN_PIPE, INTERNAL, INTERRUPTED, UNREADABLE, UsageError, complain, printable
from turnfold.cli.stopping import stopped_as_by_ctrl_c
from turnfold.errors import ArgumentError, TurnfoldError, UnknownEncodingError

_ABOUT = "Meter and compact the transcripts of LLM agents, offline."
_DETAILS = """\
exit status: 0 done; 1 something was found (scan: an error; split: no cut; plan --diff: a difference; repair, compact,
batch, apply, demo: a transcript failed); 2 a path could not be read, or the command line is wrong. `turnfold COMMAND
--help` has the rest."""


class _Command(NamedTuple):
    summary: str
    usage: str
    details: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


_COMMANDS = {
    "count": _Command(count.SUMMARY, count.USAGE, count.DETAILS, count.add, count.run),
    "scan": _Command(scan.SUMMARY, scan.USAGE, scan.DETAILS, scan.add, scan.run),
    "split": _Command(split.SUMMARY, split.USAGE, split.DETAILS, split.add, split.run),
    "prefix": _Command(prefix.SUMMARY, prefix.USAGE, prefix.DETAILS, prefix.add, prefix.run),
    "repair": _Command(repair.SUMMARY, repair.USAGE, repair.DETAILS, repair.add, repair.run),
    "compact": _Command(compact.SUMMARY, compact.USAGE, compact.DETAILS, compact.add, compact.run),
    "batch": _Command(batch.SUMMARY, batch.USAGE, batch.DETAILS, batch.add, batch.run),
    "plan": _Command(plan.SUMMARY, plan.USAGE, plan.DETAILS, plan.add, plan.run),
    "apply": _Command(apply.SUMMARY, apply.USAGE, apply.DETAILS, apply.add, apply.run),
    "demo": _Command(demo.SUMMARY, demo.USAGE, demo.DETAILS, demo.add, demo.run),
}


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that reads the same under every Python version and terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=116, max_help_position=26)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        return f"{', '.join(action.option_strings)} {self._format_args(action, action.dest.upper())}"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        complain(printable(f"{self.prog}: {message}; see '{self.prog} --help'"))
        raise SystemExit(UNREADABLE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; `arguments` defaults to those of the process."""
    _open_closed_streams()
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else UNREADABLE
    with stopped_as_by_ctrl_c() as stopped:
        status = _run(options)
    return stopped.status if status == INTERRUPTED else status


def _run(options: argparse.Namespace) -> int:
    try:
        status = int(_COMMANDS[options.command].run(options))
        sys.stdout.flush()
    except (UsageError, UnknownEncodingError, ArgumentError) as error:
        complain(printable(f"turnfold {options.command}: {error}; see 'turnfold {options.command} --help'"))
        return UNREADABLE
    except BrokenPipeError:
        _close_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except TurnfoldError as error:
        complain(printable(f"turnfold {options.command}: internal error: {error}; please report it"))
        return INTERNAL
    except OSError as error:
        complain(printable(f"turnfold {options.command}: {error}; check the path and its permissions"))
        return UNREADABLE
    return status


def _open_closed_streams() -> None:
    """Point the standard streams that the caller has closed to nowhere, before a file takes their descriptors."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # for the process


def _close_stdout() -> None:
    """Point stdout to nowhere, so that the interpreter's last flush does not fail on the closed pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="turnfold", usage="turnfold COMMAND ...", description=_ABOUT, epilog=_DETAILS, formatter_class=_Help
    )
    parser.add_argument("--version", action="version", version=f"turnfold {__version__}")
    commands = parser.add_subparsers(
        title="commands", prog="turnfold", dest="command", metavar="COMMAND", required=True
    )
    for name, command in _COMMANDS.items():
        child = commands.add_parser(
            name,
            help=command.summary,
            usage=command.usage,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=command.details,
            formatter_class=_Help,
        )
        command.add(child)
    return parser
