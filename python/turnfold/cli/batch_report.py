"""One HTML file about a batch: no script, no network, charts of plain boxes."""

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Final

import msgspec

from turnfold.batch.journal import Journal
from turnfold.cli.batch_totals import Totals
from turnfold.cli.compact_record import CompactRecord
from turnfold.cli.display import number
from turnfold.cli.outputs import write_whole
from turnfold.model.decodable import decodable
from turnfold.model.price import Price
from turnfold.model.summary import NO_USAGE

_ROWS: Final = 20
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2430; --faint: #667085; --line: #d9dee7; --page: #fff; --bar: #2f6fb0;
  --rest: #c9d6e6; --bad: #b3362b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --faint: #97a3b6; --line: #303a49; --page: #141a22;
  --bar: #6aa5e0; --rest: #33475f; --bad: #ef7d70; } }
* { box-sizing: border-box; }
body { margin: 2rem auto; max-width: 64rem; padding: 0 1.25rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--page); }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.05rem; margin: 2.25rem 0 .6rem; }
p, .faint { color: var(--faint); margin: 0 0 .75rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .75rem; margin: 1.25rem 0; }
.tile { border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem; }
.tile b { display: block; font-size: 1.45rem; font-variant-numeric: tabular-nums; } .tile span { color: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--faint); font-weight: 500; } td.n, th.n { text-align: right; white-space: nowrap; }
td.path { overflow-wrap: anywhere; min-width: 15rem; } td.chart { width: 30%; min-width: 8rem; }
td.said { color: var(--faint); width: 40%; }
.bar { display: flex; height: .8rem; margin-top: .35rem; border-radius: .2rem; overflow: hidden; }
.bar i { background: var(--bar); } .bar u { background: var(--rest); } .bar.bad i { background: var(--bad); }
"""


class Group:
    """What transcripts that have something in common add up to."""

    def __init__(self) -> None:
        self.transcripts = self.compacted = self.before = self.after = 0

    def add(self, record: CompactRecord) -> None:
        """Count one transcript."""
        self.transcripts += 1
        self.compacted += record.status == "compacted"
        if record.tokens is not None:
            self.before += record.tokens.before
            self.after += record.tokens.after


class Report:
    """What a report says, gathered from records one by one, in memory that does not grow with them."""

    def __init__(self) -> None:
        self.all = Group()
        self.formats: dict[str, Group] = {}
        self.folders: dict[str, Group] = {}
        self.statuses: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.tried: Counter[str] = Counter()
        self.usage = NO_USAGE
        self.methods: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.failures: list[CompactRecord] = []
        self.slowest: list[tuple[float, int, CompactRecord]] = []
        self.identifiers = [0, 0]
        self.survival = [0] * 10
        self.prefix = [0, 0]
        self._order = itertools.count()

    def add(self, record: CompactRecord) -> None:
        """Take one record."""
        self.all.add(record)
        self.statuses[record.status] += 1
        if record.reason is not None:
            self.reasons[record.reason] += 1
            self.examples.setdefault(record.reason, record.text)
        self.tried.update(record.tried)
        if record.usage is not None:
            self.usage += record.usage
        if record.status == "failed":
            if len(self.failures) < _ROWS:
                self.failures.append(record)
            return
        self.formats.setdefault(record.format or "unknown", Group()).add(record)
        folder = str(Path(record.path).parent)
        if folder in self.folders or len(self.folders) < 1_000:
            self.folders.setdefault(folder, Group()).add(record)
        self.findings.update(record.finding_codes or {})
        if record.method is not None:
            self.methods[record.method] += 1
        if record.identifiers is not None and record.identifiers.all:
            share = record.identifiers.kept / record.identifiers.all
            self.identifiers[0] += record.identifiers.kept
            self.identifiers[1] += record.identifiers.all
            self.survival[min(9, math.floor(share * 10))] += 1
        if record.prefix is not None and record.tokens is not None:
            self.prefix[0] += record.prefix.tokens
            self.prefix[1] += record.tokens.before
        entry = (record.seconds, next(self._order), record)
        if len(self.slowest) < _ROWS:
            heapq.heappush(self.slowest, entry)
        else:
            heapq.heappushpop(self.slowest, entry)

    def html(self, totals: Totals, price: Price | None = None) -> str:
        """Return the page."""
        saved = self.all.before - self.all.after
        tiles = (
            (number(self.all.transcripts), "transcripts"),
            (number(self.statuses["compacted"]), "compacted"),
            (number(self.statuses["failed"]), "failed"),
            (_short(self.all.before, self.all.before), "tokens before"),
            (_short(self.all.after, self.all.before), "tokens after"),
            (_percent(saved, self.all.before), "of the tokens saved"),
        )
        ran = f"{number(totals.documents)} documents in {totals.seconds:,.1f} s in this run"
        parts = [
            "<h1>turnfold batch</h1>",
            f"<p>{ran}; {number(totals.resumed)} were done before.</p>",
            f'<div class="tiles">{"".join(_tile(*tile) for tile in tiles)}</div>',
            _section("Tokens by format", _groups("format", self.formats)),
            _section("Tokens by folder", _groups("folder", self.folders)),
            _section("What became of the transcripts", _counts("result", self.statuses, self.all.transcripts)),
            _section(
                "Why some were left as they were, or failed",
                _counts("reason", self.reasons, self.all.transcripts, said=self.examples),
            ),
            _section("Who wrote the summaries", _counts("method", self.methods, sum(self.methods.values()))),
            _section("How each try for a summary ended", self._tries(price)),
            _section("Findings in what was written", _counts("code", self.findings, sum(self.findings.values()))),
            _section("Identifiers that survived", self._survival()),
            _section("What prompt caches keep", self._prefix()),
            _section("Failures", self._failures()),
            _section("Slowest", self._slowest()),
        ]
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>turnfold batch</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
        )

    def _tries(self, price: Price | None) -> str:
        if self.usage == NO_USAGE and set(self.tried) <= {"rules: used"}:
            return ""
        prompt, reply = number(self.usage.prompt_tokens), number(self.usage.completion_tokens)
        cost = "" if price is None else f", which cost {price.of(self.usage):,.4f}"
        told = f"<p>Models used {prompt} tokens of prompts and {reply} of replies{cost}.</p>"
        return told + _counts("who, and how", self.tried, sum(self.tried.values()))

    def _survival(self) -> str:
        kept, everything = self.identifiers
        if not everything:
            return ""
        shares = {f"{10 * k} to {10 * k + 10} %": count for k, count in enumerate(self.survival) if count}
        told = (
            f"<p>{number(kept)} of {number(everything)} identifiers ({_percent(kept, everything)}) are still there.</p>"
        )
        return told + _counts("share that survived", shares, sum(self.survival), ordered=True)

    def _prefix(self) -> str:
        shared, everything = self.prefix
        if not everything:
            return ""
        told = f"{number(shared)} of {number(everything)} tokens ({_percent(shared, everything)}) of what was compacted"
        bar = _bar(shared, everything)
        return f"<p>{told} stand unchanged at the start: a cache that held them still does.</p>{bar}"

    def _failures(self) -> str:
        rows = [
            f'<tr><td class="path">{escape(_place(r))}</td><td>{escape(r.reason or "")}</td>'
            f"<td>{escape(r.text)}</td></tr>"
            for r in self.failures
        ]
        more = self.statuses["failed"] - len(rows)
        table = _table(("transcript", "reason", "what was wrong"), rows)
        return table + (f"<p>and {number(more)} more</p>" if more > 0 and rows else "")

    def _slowest(self) -> str:
        rows = []
        for seconds, _, record in sorted(self.slowest, key=lambda entry: (-entry[0], entry[1])):
            before = "" if record.tokens is None else number(record.tokens.before)
            rows.append(
                f'<tr><td class="path">{escape(_place(record))}</td><td class="n">{before}</td>'
                f'<td class="n">{1000 * seconds:,.1f}</td></tr>'
            )
        return _table(("transcript", "#tokens", "#milliseconds"), rows)


def write_report(
    path: Path, journal: Journal, totals: Totals, unread: Iterable[CompactRecord], price: Price | None = None
) -> None:
    """Write the report of all that `journal` holds, and of what this run could not read or write, to `path`.

    Whole or not at all.
    """
    report = Report()
    for records in journal.all_records():
        for record in msgspec.json.decode(records, type=decodable(list[CompactRecord])):
            report.add(record)
    for record in unread:
        report.add(record)
    write_whole(path, report.html(totals, price).encode("utf-8", "replace"))


def _place(record: CompactRecord) -> str:
    named = record.path if record.index is None else f"{record.path}[{record.index}]"
    return named if record.id is None else f"{named} {record.id}"


def _section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>{body}" if body else ""


def _tile(value: str, told: str) -> str:
    return f'<div class="tile"><b>{value}</b><span>{escape(told)}</span></div>'


def _table(heads: Iterable[str], rows: list[str]) -> str:
    if not rows:
        return ""
    cells = "".join(
        f'<th class="n">{escape(head[1:])}</th>' if head.startswith("#") else f"<th>{escape(head)}</th>"
        for head in heads
    )
    return f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _groups(named: str, groups: Mapping[str, Group]) -> str:
    largest = max((group.before for group in groups.values()), default=0)
    rows = [
        f'<tr><td class="path">{escape(name)}</td><td class="n">{number(group.transcripts)}</td>'
        f'<td class="n">{number(group.before)}</td><td class="n">{number(group.after)}</td>'
        f'<td class="n">{_percent(group.before - group.after, group.before)}</td>'
        f'<td class="chart">{_bar(group.after, group.before, largest)}</td></tr>'
        for name, group in sorted(groups.items(), key=lambda item: -item[1].before)[:_ROWS]
    ]
    heads = (named, "#transcripts", "#tokens before", "#after", "#saved", "after (dark) of before")
    return _table(heads, rows)


def _counts(
    named: str,
    counts: Mapping[str, int],
    everything: int,
    *,
    ordered: bool = False,
    said: Mapping[str, str] | None = None,
) -> str:
    """A row a name, the largest first unless they are `ordered`; `said` has an example of each."""
    pairs = list(counts.items()) if ordered else sorted(counts.items(), key=lambda item: -item[1])
    rows = [
        f'<tr><td>{escape(name)}</td><td class="n">{number(count)}</td><td class="n">{_percent(count, everything)}</td>'
        f'<td class="chart">{_bar(count, everything, bad=name == "failed")}</td>'
        + ("" if said is None else f'<td class="said">{escape(said.get(name, ""))}</td>')
        + "</tr>"
        for name, count in pairs
        if count
    ]
    return _table((named, "#number", "#share", "", *(() if said is None else ("for example",))), rows)


def _bar(part: int, whole: int, largest: int | None = None, *, bad: bool = False) -> str:
    """A bar: `part` dark, the rest of `whole` light, on a scale that ends at `largest`."""
    scale = largest or whole
    if not scale:
        return ""
    dark, rest = 100 * part / scale, 100 * max(0, whole - part) / scale
    kind = "bar bad" if bad else "bar"
    boxes = f'<i style="width:{dark:.2f}%"></i><u style="width:{rest:.2f}%"></u>'
    return f'<div class="{kind}" role="img" aria-label="{_percent(part, whole)}">{boxes}</div>'


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _short(value: int, largest: int) -> str:
    """A number in the unit of the largest beside it."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if largest >= 10 * size or (unit != "k" and largest >= size):
            return f"{value / size:,.2f} {unit}" if unit != "k" else f"{value / size:,.1f} {unit}"
    return number(value)
