"""`python -m turnfold.testing.cases DIR [--json]`: runs a folder of field cases, one JSON file each.

A case of a layer and format that this version covers passes or fails; an expectation or parameter that is not known,
or that nothing checks, is a failure. Other cases are listed as not covered. Exit status: 0 no failure, 1 a failure,
2 the folder cannot be read or holds no case.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from turnfold.errors import TurnfoldError
from turnfold.testing.case_batch import check_batch
from turnfold.testing.case_compaction import check_transcripts
from turnfold.testing.case_files import CaseError, CaseFile, Mismatch, Mismatches, brief, read_case
from turnfold.testing.case_meter import check_meter
from turnfold.testing.case_prefix import check_prefix
from turnfold.testing.case_store import check_store
from turnfold.testing.case_summaries import check_summaries

Status = Literal["pass", "fail", "not covered"]

_COVERED: dict[str, tuple[Callable[[CaseFile], Mismatches], frozenset[str]]] = {
    "meter": (check_meter, frozenset({"text", "openai-chat", "anthropic"})),
    "pairs": (check_transcripts, frozenset({"openai-chat", "openai-responses", "anthropic", "gemini"})),
    "split": (check_transcripts, frozenset({"openai-chat", "openai-responses", "anthropic", "gemini"})),
    "adapters": (check_transcripts, frozenset({"openai-chat", "anthropic", "gemini"})),
    "prefix": (check_prefix, frozenset({"openai-chat", "anthropic"})),
    "summarize": (check_summaries, frozenset({"openai-chat", "openai-responses"})),
    "batch": (check_batch, frozenset({"text"})),
    "store": (check_store, frozenset({"openai-chat"})),
}


class CaseOutcome(msgspec.Struct, frozen=True):
    """What became of one case. `reason` says why it is not covered, `mismatches` why it fails."""

    file: str
    id: str
    title: str
    layer: str
    format: str
    status: Status
    mismatches: tuple[Mismatch, ...] = ()
    reason: str = ""

    def line(self) -> str:
        """Return the outcome in one line, and one more for each mismatch."""
        head = f"{self.status:<11}  {self.layer:<9}  {self.format:<16}  {self.file}"
        if self.reason:
            return f"{head}: {self.reason}"
        details = (f"    {m.where}: expected {m.expected}, got {m.got}" for m in self.mismatches)
        return "\n".join((head, *details))


def run_cases(folder: Path) -> Iterator[CaseOutcome]:
    """Run every `.json` file of the folder, in name order."""
    for path in sorted(folder.glob("*.json")):
        yield run_case(path)


def run_case(path: Path) -> CaseOutcome:
    """Run one case file."""
    try:
        case = read_case(path)
    except CaseError as fault:
        mismatch = Mismatch("file", "a case", brief(str(fault)))
        return CaseOutcome(_shown(path), "", "", "unknown", "unknown", "fail", (mismatch,))
    check, formats = _COVERED.get(case.layer, (None, frozenset[str]()))
    if check is None:
        return _outcome(path, case, "not covered", reason=f"layer {case.layer} is not part of this version")
    if case.format not in formats:
        return _outcome(path, case, "not covered", reason=f"format {case.format} is not read by this version")
    mismatches = tuple(_checked(check, case))
    return _outcome(path, case, "fail" if mismatches else "pass", mismatches)


def _checked(check: Callable[[CaseFile], Mismatches], case: CaseFile) -> Mismatches:
    try:
        yield from check(case)
    except CaseError as fault:
        yield Mismatch("case", "only what this version knows and checks", brief(str(fault)))
    except TurnfoldError as error:
        yield Mismatch("case", "no error", brief(f"{type(error).__name__}: {error}"))


def _outcome(
    path: Path, case: CaseFile, status: Status, mismatches: tuple[Mismatch, ...] = (), reason: str = ""
) -> CaseOutcome:
    return CaseOutcome(_shown(path), case.id, case.title, case.layer, case.format, status, mismatches, reason)


def _shown(path: Path) -> str:
    """Return a file's name as text that can be printed and encoded, even where it is not UTF-8."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the folder that the command line names; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m turnfold.testing.cases", description="Run a folder of field cases."
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder with one JSON file a case")
    parser.add_argument("--json", action="store_true", help="one JSON object a case")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    if not folder.is_dir():
        sys.stderr.write(f"{folder}: no such folder; name a folder of case files\n")
        return 2
    counts: dict[Status, int] = {"pass": 0, "fail": 0, "not covered": 0}
    try:
        for outcome in run_cases(folder):
            counts[outcome.status] += 1
            print(msgspec.json.encode(outcome).decode() if options.json else outcome.line(), flush=True)
    except BrokenPipeError:
        # The interpreter's last flush must not fail on the pipe that its reader has closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        sys.stderr.write(f"{error}; check the file and its permissions\n")
        return 2
    if not any(counts.values()):
        sys.stderr.write(f"{folder}: no .json file in it; name a folder of case files\n")
        return 2
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    print(summary, file=sys.stderr if options.json else sys.stdout)
    return 1 if counts["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
