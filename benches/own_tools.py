"""Whether each agent's own loader takes the log that turnfold compacted, and what it holds then.

    python benches/own_tools.py [--python KIND=PYTHON ...] [--corpus FOLDER] [--preset NAME|all] [--commands] [FILE ...]

Files are the test samples unless named; `--corpus` adds a folder of recorded logs. Each log is read and compacted by
rule, each result that it takes is written, and the loader of its kind (tool_readers.py) reads the log before and after.
`--preset` compacts by that preset instead, made to fire; `all` by a plain summary and by every preset, each on its own.
`--python` names a Python that has the tool, where this one has not; `--commands` prints how to make such ones.

A log passes where the tool loads it, holds every summary and every kept text that it held before, and none of the texts
that were replaced. Only results whose transcript the tool showed for the most part are asked of it. What the tool
refuses already as it came, or never shows, says little about turnfold and is listed apart: Claude Code's SDK hides
sub-agents inside of a session and messages of a team, of records that name no parent it shows the last one, in the log
of a sub-agent it shows nothing before a parent that stands in another file, and of parallel results those that the rest
hangs on. Exits 1 where a log fails.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace
from presets import made
from tool_readers import READERS, installed, reading

from turnfold import CompactionResult, KeepMessages, OnRequest, Policy, Rules, Summarize, Transcript, compact_sync
from turnfold.containers import Log, read_log
from turnfold.errors import NotWritableError, ReadError
from turnfold.model.plan import DropRange, EditBlocks, SummaryHole
from turnfold.presets import BY_NAME

SAMPLES = Path(__file__).parent.parent / "tests" / "containers" / "samples"
Maker = Callable[[Transcript], Policy]
ENOUGH = 24
"""Shorter texts stand in other places by chance."""


@dataclass(frozen=True)
class Shown:
    """What a tool holds: as one text, and each string of it."""

    whole: str
    strings: frozenset[str]

    def alone(self, text: str, said: "Said") -> bool:
        """Whether it holds a text on its own, and not only in others, or in calls, that quote it."""
        if text in said.asked:
            return False
        if text in self.strings:
            return True
        return text in self.whole and not any(text in other for other in said.before if other != text)


@dataclass(frozen=True)
class Said:
    """The texts of one transcript as it came and as its result has them.

    `cut` has, a text that was cut, what all it was; `asked` what calls handed to tools.
    """

    before: frozenset[str]
    after: frozenset[str]
    cut: Mapping[str, frozenset[str]] = field(default_factory=dict)
    asked: str = ""

    @property
    def new(self) -> frozenset[str]:
        """The texts of summaries."""
        return self.after - self.before - self.cut.keys()

    def needed(self, shown: Shown, known: str) -> Iterator[str]:
        """The texts that the tool has to hold: summaries, cut texts and kept ones, where it showed what they were.

        `known` is what it showed, without what goes.
        """
        replaced = self.before - self.after - frozenset(old for olds in self.cut.values() for old in olds)
        if not replaced or any(shown.alone(text, self) for text in replaced):
            yield from self.new
        yield from (text for text in self.after & self.before if text in known)
        for text, olds in self.cut.items():
            if text in self.after and any(shown.alone(old, self) for old in olds):
                yield text


@dataclass(frozen=True)
class Case:
    """A log and what was written of it; what each result says, and the texts that no transcript says any more."""

    name: str
    kind: str
    before: bytes
    after: bytes
    results: tuple[Said, ...]
    gone: frozenset[str]


def texts(transcripts: Iterable[Transcript]) -> set[str]:
    """Every text of some length that someone says or a tool answers."""
    return {
        block.text.strip()
        for transcript in transcripts
        for index, role in enumerate(transcript.roles)
        for block in transcript.blocks(index)
        if role not in {"system", "developer"}
        if block.kind in {"text", "tool_result"} and len(block.text.strip()) >= ENOUGH
    }


def asked(transcripts: Iterable[Transcript]) -> str:
    """All that calls hand to tools, spelled as it is meant: it may quote what was said."""
    blocks = [b for t in transcripts for index in range(len(t)) for b in t.blocks(index) if b.kind == "tool_call"]
    lines = [line for block in blocks for line in block.text.split("\n")]
    return "\n".join((*lines, *(inner for line in lines for inner in unwrapped(line))))


def cuts(before: Transcript, result: CompactionResult) -> Iterator[tuple[str, str]]:
    """Each text of the result that is a cut one, with one that it was."""
    at = 0
    for tile in result.plan.tiles:
        if isinstance(tile, EditBlocks) and not tile.stripped:
            pairs = zip(before.blocks(tile.start), result.transcript.blocks(at), strict=True)
            yield from ((new.text.strip(), old.text.strip()) for old, new in pairs if old.text != new.text)
        if isinstance(tile, SummaryHole):
            at += 1 + sum(kept.stop - kept.start for kept in tile.kept)
        elif not isinstance(tile, DropRange):
            at += tile.stop - tile.start


def known(data: bytes) -> Log | None:
    """Read a log; None where it is of no kind with a tool at hand."""
    try:
        log = read_log(data)
    except ReadError:
        return None
    return log if log.container in READERS else None


def case(title: str, log: Log, maker: Maker) -> Case | None:
    """Compact a log; None where nothing of it can be written."""
    results: dict[str, CompactionResult] = {}
    for logged in log.transcripts:
        result = compact_sync(logged.transcript, maker(logged.transcript), Rules())
        if isinstance(result, CompactionResult):
            try:
                log.write({**results, logged.id: result})
            except NotWritableError:
                continue
            results[logged.id] = result
    if not results:
        return None
    after = {t.id: t.transcript for t in log.transcripts} | {k: r.transcript for k, r in results.items()}
    whole = "\n".join((*texts(after.values()), asked(after.values())))
    gone = frozenset(text for text in texts(t.transcript for t in log.transcripts) if text not in whole)
    came = {t.id: t.transcript for t in log.transcripts}
    spoken: list[Said] = []
    for name, result in results.items():
        cut: dict[str, frozenset[str]] = {}
        for new, old in cuts(came[name], result):
            cut[new] = cut.get(new, frozenset()) | {old}
        said_before, said_after = frozenset(texts([came[name]])), frozenset(texts([result.transcript]))
        spoken.append(Said(said_before, said_after, cut, asked([came[name]])))
    return Case(title, log.container, log.document.data, log.write(results), tuple(spoken), gone)


def plain(_: Transcript) -> Policy:
    """One summary of all but the last messages."""
    return Policy(OnRequest(), (Summarize(KeepMessages(2)),))


def preset(name: str) -> Maker:
    """Makes a preset's policy that always fires, with a limit that a transcript is over."""
    return lambda transcript: replace(made(name, max(1, transcript.tokens().n // 2)), trigger=OnRequest())


def chosen(name: str | None) -> Mapping[str, Maker]:
    """The policies to compact by, by the name of their preset; the plain summary has none."""
    if name == "all":
        return {"": plain} | {each: preset(each) for each in BY_NAME}
    return {"": plain} if name is None else {name: preset(name)}


def loaded(kind: str, paths: Sequence[Path], python: str | None) -> list[Mapping[str, object]]:
    """What the tool holds of each file; in another Python where one is given."""
    if python is None:
        return [reading(kind, path) for path in paths]
    script = str(Path(__file__).with_name("tool_readers.py"))
    ran = subprocess.run([python, script, kind, *map(str, paths)], capture_output=True, text=True, check=False)
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    if ran.returncode != 0 or len(told) != len(paths):
        raise SystemExit(f"{python} has no {READERS[kind].distribution}: {ran.stderr[-300:]}")
    return told


def verdicts(cases: Sequence[Case], python: str | None) -> Iterator[tuple[str, str, str]]:
    """What the tool says to each case of one kind: see `verdict`."""
    with tempfile.TemporaryDirectory() as folder:
        paths: dict[bytes, Path] = {}
        for data in (data for case in cases for data in (case.before, case.after)):
            suffix = ".eval" if cases[0].kind == "inspect_eval" else ".json"
            paths.setdefault(data, Path(folder, f"{len(paths)}{suffix}")).write_bytes(data)
        told = dict(zip(paths, loaded(cases[0].kind, list(paths.values()), python), strict=True))
    for case in cases:
        yield verdict(case, told[case.before], told[case.after])


def verdict(case: Case, first: Mapping[str, object], second: Mapping[str, object]) -> tuple[str, str, str]:
    """`loaded`, `not shown`, `failed` or `refused before`; the tool; why."""
    tool = str(first["tool"])
    if "refused" in first:
        return "refused before", tool, str(first["refused"])[:200]
    if not list_held(first):
        return "refused before", tool, "the tool finds no message in it"
    if "refused" in second:
        return "failed", tool, f"refused: {second['refused']}"[:300]
    known, held = said(first), said(second)
    # What goes may quote a text that stays and that the tool never shows, as it hides what the user did not write.
    for text in sorted(case.gone, key=len, reverse=True):
        known = known.replace(text, "")
    # Of a log with several transcripts, a tool may show one: the sessions of sub-agents are not in its view.
    whole = said(first)
    counts = [(sum(text in whole for text in r.before), len(r.before)) for r in case.results]
    shown = [r for r, (seen, all_texts) in zip(case.results, counts, strict=True) if 2 * seen >= all_texts]
    strings = (text for message in list_held(first) for one in message for text in (one, *unwrapped(one)))
    tool_shown = Shown(whole, frozenset(text.strip() for text in strings))
    needed = {text for r in shown for text in r.needed(tool_shown, known)}
    lost = sorted(text for text in needed if text not in held)
    if lost:
        return "failed", tool, f"{len(lost)} texts are not there: {lost[0][:120]!r}"
    # A summary may quote what it replaces.
    rest = held
    for result in case.results:
        for text in result.after - result.before:
            rest = rest.replace(text, "")
    left = sorted(text for text in case.gone if text in rest)
    if left:
        return "failed", tool, f"{len(left)} replaced texts are still there: {left[0][:120]!r}"
    if not shown:
        most, of = max(counts)
        return (
            "not shown",
            tool,
            f"as it came, the tool shows {most} of the {of} texts of what was compacted",
        )
    return "loaded", tool, f"{len(list_held(first))} messages before, {len(list_held(second))} after"


def list_held(told: Mapping[str, object]) -> list[list[str]]:
    """The messages that a reader told of."""
    held = told["held"]
    return held if isinstance(held, list) else []


def said(told: Mapping[str, object]) -> str:
    """All that a tool holds as one text, with the strings inside of JSON as they are meant."""
    strings = [text for message in list_held(told) for text in message]
    return "\n".join((*strings, *(inner for text in strings for inner in unwrapped(text))))


def unwrapped(text: str) -> Iterator[str]:
    """The strings inside a string that is JSON."""
    try:
        values = [json.loads(text)]
    except ValueError:
        return
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value


def files(options: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    """The named files, or the samples; then the recorded ones."""
    for path in options.files or sorted(SAMPLES.iterdir()):
        yield path.name, path.read_bytes()
    if options.corpus:
        from corpus_table import files as recorded

        for _, name, data in recorded(options.corpus):
            yield name, data


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--python", action="append", default=[], metavar="KIND=PYTHON")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--preset", choices=("all", *sorted(BY_NAME)), help="compact by this preset instead")
    parser.add_argument("--commands", action="store_true", help="print how to install each tool")
    options = parser.parse_args()
    if options.commands:
        for kind, reader in READERS.items():
            print(f"python{reader.python} -m venv {kind} && {kind}/bin/pip install {reader.install}")
        return 0
    pythons = dict(given.split("=", 1) for given in options.python)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    tools: dict[str, str] = {}
    cases: dict[str, list[Case]] = defaultdict(list)
    makers = chosen(options.preset)
    for name, data in files(options):
        if (log := known(data)) is None:
            continue
        for by, maker in makers.items():
            if (found := case(" ".join((name, by)).strip(), log, maker)) is not None:
                cases[found.kind].append(found)
    for kind, own in cases.items():
        if kind not in pythons and installed(kind) is None:
            counts[kind]["no tool here"] = len(own)
            continue
        for found, (what, tool, why) in zip(own, verdicts(own, pythons.get(kind)), strict=True):
            counts[kind][what] += 1
            tools[kind] = tool
            print(f"{what:15} {kind:15} {found.name}: {why}")
    print()
    for kind in sorted(READERS):
        told = ", ".join(f"{times} {what}" for what, times in sorted(counts[kind].items())) or "nothing to load"
        print(f"{kind:15} {tools.get(kind, READERS[kind].distribution):28} {told}")
    return 1 if any(count["failed"] for count in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
