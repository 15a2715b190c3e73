"""Sessions of coding agents on the harbour project: read, test, change, test again."""

import ast
import re

import play
from play import edit, listing, read, search, session, shell, write

CODER = """\
You are a coding agent. You work in the folder of one project with the tools you are given.
- Read before you change. Make the smallest change that does what was asked.
- Run `python -m unittest` after each change and look at what it prints.
- Say in one or two sentences what you are about to do, then do it.
- Never change a test to make it pass unless the user says that the test is wrong."""


def fix_failing_tests() -> dict:
    """Five bugs, one after the other."""
    with session("quayside", CODER) as s:
        s.user(
            "The tests of this project fail since last week. Find out why and fix the code, one bug at a time. Keep the public names as they are."
        )
        s.agent("I'll look at the project and run the tests first.", listing(), shell("python -m unittest"))
        s.agent(
            "Seven problems in four test files. I'll start with the schedule and read the code beside its test.",
            read("quayside/schedule.py"),
            read("tests/test_schedule.py"),
        )
        s.agent(
            "`overlaps` counts the morning of departure as a night: a stay that leaves on the 13th and one that arrives on the 13th share no night, so both comparisons must be strict.",
            search("overlaps"),
        )
        s.agent(
            "",
            edit(
                "quayside/schedule.py",
                "    return a.arrives <= b.leaves and b.arrives <= a.leaves",
                "    return a.arrives < b.leaves and b.arrives < a.leaves",
            ),
        )
        s.agent("", shell("python -m unittest tests.test_schedule"))
        s.agent(
            "The schedule is right again. Next the tariffs.", read("quayside/tariffs.py"), read("tests/test_tariffs.py")
        )
        s.agent(
            "Two bugs here. `to_cents` says halves go away from zero but rounds half to even; and the weekly discount starts at eight nights although the docstring says seven.",
            edit("quayside/tariffs.py", "ROUND_HALF_EVEN", "ROUND_HALF_UP"),
        )
        s.agent(
            "The name stands twice, in the import and in its use, so nothing was changed. I'll change each with its line.",
            edit(
                "quayside/tariffs.py",
                "from decimal import Decimal, ROUND_HALF_EVEN",
                "from decimal import Decimal, ROUND_HALF_UP",
            ),
            edit("quayside/tariffs.py", "rounding=ROUND_HALF_EVEN)", "rounding=ROUND_HALF_UP)"),
        )
        s.agent("", shell("python -m unittest tests.test_tariffs"))
        s.agent(
            "Rounding is right; the discount is left.",
            edit("quayside/tariffs.py", "        if len(days) > 7:", "        if len(days) >= 7:"),
        )
        s.agent("", shell("python -m unittest tests.test_tariffs"))
        s.agent(
            "Now the tides: the window that is still open when the span ends is lost.",
            read("quayside/tides.py", 18, 52),
            read("tests/test_tides.py"),
        )
        s.agent(
            "`windows` only appends a span when the tide falls below the height; after the loop an open one has to be closed at `stop`.",
            edit(
                "quayside/tides.py",
                "            moment += step\n        return spans",
                "            moment += step\n        if opened is not None:\n            spans.append((opened, stop))\n        return spans",
            ),
        )
        s.agent("", shell("python -m unittest tests.test_tides"))
        s.agent(
            "Last the report: the width of wide characters.", read("quayside/report.py"), read("tests/test_report.py")
        )
        s.agent(
            "`unicodedata` is imported and not used, so somebody began this. East Asian wide and full-width characters take two columns, combining ones none.",
            edit(
                "quayside/report.py",
                "    return len(text)",
                '    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)',
            ),
        )
        s.agent("", shell("python -m unittest"))
        s.agent(
            "All 16 pass. I'll print a week and look at the columns, then the whole change.",
            shell("python -m quayside week 31 --year 2026"),
            shell("git diff"),
        )
        s.agent(
            "The five bugs are fixed: `overlaps` (strict comparisons), `to_cents` (half up), the weekly discount (from seven nights), `windows` (open span at the end) and `width` (wide characters). No test was touched."
        )
        s.user("Good. Does anything else use ROUND_HALF_EVEN or compare days with <= the same way?")
        s.agent("I'll search for both.", search("ROUND_"), search("<=", "quayside"))
        s.agent(
            "No other rounding. `Stay.__post_init__` has `leaves <= arrives`, which is right: a stay needs a night. `Schedule.on` uses `arrives <= day < leaves`, which is half-open and right as well."
        )
        s.user("Then write a short entry for the changelog, with the names of the functions.")
        s.agent(
            "",
            write(
                "CHANGELOG.md",
                "# Changelog\n\n## 0.4.2\n\n- `schedule.overlaps`: a berth is free again on the day a boat leaves.\n- `tariffs.to_cents`: halves are rounded up, as the invoice law wants it.\n- `Tariff.stay`: the weekly discount starts at seven nights, not at eight.\n- `TideTable.windows`: a window that is open at the end is not lost.\n- `report.width`: wide characters take two columns.\n",
            ),
        )
        s.agent(
            "",
            edit("quayside/__init__.py", '__version__ = "0.4.1"', '__version__ = "0.4.2"'),
            shell("python -m unittest"),
        )
        s.agent(
            "The entry is in CHANGELOG.md and the version is 0.4.2. Invoices of stays of exactly seven nights written since the discount was added were too high by a tenth; you may want to look at those."
        )
        s.user("Right, how many of those are there in bookings.txt?")
        s.agent(
            "",
            shell(
                "python -c \"from quayside import store; from pathlib import Path; [print(s.boat, s.nights) for s in store.load(Path('bookings.txt').read_text()) if s.nights == 7]\""
            ),
        )
        s.agent(
            "Two: Nordlicht and Mère l'Oye, both in week 31. Both were billed without the discount if their invoices were made before this change."
        )
        s.user("Thanks. Now make `python -m quayside check` list clashes instead of stopping at the first.")
        return play.openai_body(s, "gpt-4o-2024-08-06")


def rename_across_files() -> list:
    """A rename, one edit a place: long, repetitive, with edits that fail because a text stands twice."""
    with session("quayside", CODER) as s:
        s.user(
            "In this harbour the word is slip, not berth. Rename it everywhere in the package and the tests: names, classes, texts. Go file by file and change one place at a time, I want to follow along."
        )
        s.agent("I'll see how many places there are.", search("[Bb]erth"))
        for name in s.workshop.files():
            if name.endswith((".py", ".md", ".txt")) and re.search("[Bb]erth", s.workshop.text(name)):
                _rename_in(s, name)
        s.agent(
            "That was the last file. Now the whole package again, and the tests.",
            search("[Bb]erth"),
            shell("python -m unittest"),
        )
        s.agent(
            "",
            shell(
                "git mv quayside/berths.py quayside/slips.py 2>/dev/null || mv quayside/berths.py quayside/slips.py; ls quayside"
            ),
        )
        s.agent("", shell("python -m unittest 2>&1 | tail -4"))
        s.agent(
            "The rename is complete. The failures that are left are the ones from before: they are about overlaps, rounding, tide windows and wide characters, not about names."
        )
        s.user(
            "Looks right. Which public names changed? I have to tell the office. And show me each file's change once more, one at a time, so that I can tick them off."
        )
        names = []
        for name in [
            n
            for n in s.workshop.files()
            if n.startswith("quayside/") and n.endswith(".py") and not n.startswith("quayside/__")
        ]:
            module = name.removesuffix(".py").replace("/", ".")
            (shown,) = s.agent(
                f"The public names of `{module}`.",
                shell(
                    f"python -c \"import {module} as m; print(*[n for n, v in vars(m).items() if getattr(v, '__module__', '') == m.__name__ and not n.startswith('_')])\""
                ),
            )
            names += [f"`{module}.{n}`" for n in shown.split("\n")[1].split() if re.search("[Ss]lip", n)]
        for name in s.workshop.files():
            if "slip" in s.workshop.text(name).lower():
                s.agent(f"The change of `{name}`.", shell(f"git diff -- {name}"))
        s.agent(
            "Public names that changed: "
            + ", ".join(names)
            + ", and the module `quayside.berths`, which is `quayside.slips` now. Fields changed as well: `Stay.berth` is `Stay.slip`, `Invoice.berth` is `Invoice.slip`, `Harbour.berths` is `Harbour.slips`. The header of bookings.txt is a comment, so old files still load."
        )
        s.user("I have ticked them all. Does the program's output still say berth anywhere?")
        s.agent("", shell("python -m quayside week 31 --year 2026 | head -1"), search("[Bb]erth"))
        s.agent("No: the heading says slip, and the word stands nowhere in the project any more.")
        s.user("Now fix the failures that were there before. Start with the schedule.")
        s.agent(
            "",
            read("quayside/schedule.py", 60, 76),
            shell("python -m unittest tests.test_schedule 2>&1 | grep -A8 ^ERROR"),
        )
        s.agent(
            "A stay that ends on the day the next begins shares no night with it: both comparisons must be strict.",
            edit(
                "quayside/schedule.py",
                "    return a.arrives <= b.leaves and b.arrives <= a.leaves",
                "    return a.arrives < b.leaves and b.arrives < a.leaves",
            ),
        )
        s.agent("", shell("python -m unittest tests.test_schedule"))
        s.agent("The schedule's tests pass.")
        s.user("Go on with the tariffs.")
        return play.openai_messages(s)


def _rename_in(s: play.Session, name: str) -> None:
    lines = [line for line in s.workshop.text(name).split("\n") if re.search("[Bb]erth", line)]
    s.agent(f"Next is `{name}`: {len(lines)} lines.", read(name))
    for line in dict.fromkeys(lines):
        new = line.replace("berth", "slip").replace("Berth", "Slip")
        (result,) = s.agent(_what(line), edit(name, line, new))
        if result.startswith("error:"):
            _rename_with_neighbours(s, name, line, new)
    s.agent("", search("[Bb]erth", name))


def _rename_with_neighbours(s: play.Session, name: str, line: str, new: str) -> None:
    """The text stands in more than one place: each is changed together with the line before it."""
    while True:
        lines = s.workshop.text(name).split("\n")
        found = [k for k, other in enumerate(lines) if line in other]
        if not found:
            return
        k = found[0]
        old = "\n".join(lines[max(0, k - 2) : k + 1])
        (result,) = s.agent(
            "It stands there more than once, so I take the lines above with it.",
            edit(name, old, "\n".join([*lines[max(0, k - 2) : k], lines[k].replace(line, new)])),
        )
        if result.startswith("error:"):
            s.agent(
                "Too alike for a single edit; I write the file with these lines changed.",
                write(name, s.workshop.text(name).replace(line, new)),
            )
            return


def _what(line: str) -> str:
    text = line.strip()
    if text.startswith('"""'):
        return "A docstring."
    if text.startswith("#"):
        return "A comment."
    if text.startswith(("import ", "from ")):
        return "An import; the module itself is renamed at the end."
    if text.startswith("class "):
        return f"The class `{text.split()[1].split('(')[0].rstrip(':')}`."
    if text.startswith("def "):
        return f"The function `{text[4:].split('(')[0]}` and its parameters."
    if "=" in text and "(" not in text.split("=")[0]:
        return f"The assignment to `{text.split('=')[0].strip()}`."
    return ""


def review_with_restarting_ids() -> list:
    """A review by an agent whose call ids start again with every answer."""
    with session(
        "quayside", "You review code. Read every file that matters, quote lines by number, and rank what you find."
    ) as s:
        s.user(
            "Review the quayside package. I care about correctness first, then about what a new colleague would stumble over."
        )
        s.agent("", listing("quayside"), listing("tests"))
        findings = []
        for name in [n for n in s.workshop.files() if n.startswith("quayside/") and n.endswith(".py")]:
            s.agent(f"Reading `{name}`.", read(name))
            functions = _functions(s.workshop.text(name))
            tested = [
                f
                for f in functions
                if s.workshop.use(search(rf"\b{f}\b", "tests")).count("\n")
                or f"{f}(" in s.workshop.use(search(rf"\b{f}\b", "tests"))
            ]
            missing = [f for f in functions if f not in tested and not f.startswith("_")]
            if missing:
                s.agent(
                    f"`{name}` has {len(functions)} functions; I look for tests of {', '.join(f'`{f}`' for f in missing[:3])}.",
                    *[search(rf"\b{f}\b", "tests") for f in missing[:3]],
                )
                findings.append(f"`{name}`: no test of {', '.join(missing)}")
        for name in [n for n in s.workshop.files() if n.startswith("tests/test_")]:
            (text,) = s.agent(f"What `{name}` covers.", read(name))
            module = name.removesuffix(".py").replace("/", ".")
            tests = text.count("def test_")
            s.agent(f"{tests} tests; I run them by themselves.", shell(f"python -m unittest {module} 2>&1 | tail -12"))
        s.agent(
            "Now the suspicious comparisons and the rounding.",
            search("<=|>=|ROUND", "quayside"),
            shell("python -m unittest 2>&1 | grep -E '^(FAIL|ERROR)'"),
        )
        s.agent(
            "Findings, most serious first:\n1. `schedule.overlaps` treats the day of departure as taken (line 68).\n2. `tariffs.to_cents` rounds half to even against its docstring.\n3. `Tariff.stay` gives the weekly discount from eight nights on.\n4. `TideTable.windows` loses a window that is open at the end.\n5. `report.width` counts characters, not columns.\n\nTests that are missing:\n"
            + "\n".join(f"- {f}" for f in findings)
        )
        s.user("Which of the missing tests would you write first?")
        s.agent(
            "`ledger.bill` and `Ledger._next`: invoice numbers must not have gaps, and nothing checks that. I'd read them once more before I write it.",
            read("quayside/ledger.py", 27, 60),
            search("Ledger"),
        )
        s.agent("", write("tests/test_ledger.py", LEDGER_TEST))
        s.agent("", shell("python -m unittest tests.test_ledger"))
        s.agent(
            "It passes. The number follows the day of departure, so a stay over New Year is numbered in the new year; the test fixes that as it is."
        )
        s.user("Good, go on with `store`.")
        return play.openai_messages(s, prefix="call_", restart=True)


LEDGER_TEST = """\
import unittest
from datetime import date

from quayside.berths import Berth, Boat
from quayside.ledger import Ledger
from quayside.schedule import Stay


class LedgerTest(unittest.TestCase):
    def test_numbers_have_no_gap_and_follow_the_year_of_departure(self):
        boat, berth = Boat("Nordlicht", 9.4, 3.1, 1.6), Berth("A1", 12.0, 4.0, -0.5)
        ledger = Ledger()
        for arrives, leaves in [(date(2026, 7, 1), date(2026, 7, 3)), (date(2026, 12, 30), date(2027, 1, 2))]:
            ledger.bill(Stay("Nordlicht", "A1", arrives, leaves), boat, berth)
        ledger.bill(Stay("Nordlicht", "A1", date(2026, 8, 1), date(2026, 8, 2)), boat, berth)
        self.assertEqual([i.number for i in ledger], ["2026-0001", "2027-0001", "2026-0002"])


if __name__ == "__main__":
    unittest.main()
"""


def _functions(source: str) -> list[str]:
    return [
        n.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef) and not n.name.startswith("__")
    ]


def export_feature() -> dict:
    """A feature, planned with thinking and built with parallel reads; an error on the way."""
    with session("quayside", CODER) as s:
        s.user(
            "Add `python -m quayside export --format json` that prints all stays with their nights and their price. Boats are in a file boats.txt: name;length;beam;draught;home port. Berths are in berths.txt: code;length;beam;dries;power."
        )
        s.agent(
            "I'll read what is there.",
            listing(),
            read("quayside/__main__.py"),
            read("quayside/store.py"),
            read("quayside/ledger.py"),
            thinking="The export needs stays (store.load), boats and berths (new readers), and prices (Tariff.stay). I have to see how __main__ dispatches and whether the store has a line-based reader that I can follow.",
        )
        s.agent(
            "The readers for boats and berths belong beside `load` in `store.py`. I need the fields of both classes.",
            read("quayside/berths.py"),
            read("quayside/tariffs.py"),
            read("bookings.txt"),
            thinking="store.load splits on ';' and names the line in errors. I'll write a shared _rows generator so that all three readers give the same errors, and leave load's behaviour as it is.",
        )
        s.agent(
            "First the shared reading of rows, then the two readers on top of it.",
            edit("quayside/store.py", STORE_OLD, STORE_NEW),
            thinking="Boat has length, beam, draught as floats; Berth has dries and power. Power in the file: yes or no. float() accepts 'nan', which would pass; reject by comparing with itself? Keep it simple: math.isfinite.",
        )
        s.agent("", shell("python -m unittest"), thinking="The failures must be the same seven as before.")
        s.agent(
            "Only the failures that were there before. Now the command.",
            edit("quayside/__main__.py", MAIN_OLD, MAIN_NEW),
            edit(
                "quayside/__main__.py",
                "from quayside import report, store",
                "import json\n\nfrom quayside import ledger, report, store",
            ),
        )
        s.agent("", write("boats.txt", BOATS), write("berths.txt", BERTHS))
        s.agent(
            "",
            shell("python -m quayside export --format json"),
            thinking="I expect six stays. The price of Nordlicht's seven nights is without discount because of the > 7 bug, which is not mine to fix here.",
        )
        s.agent(
            "The parser has no such command yet; I only wrote the part that runs it. I'll look at the file as it is now.",
            read("quayside/__main__.py", 13, 45),
        )
        s.agent(
            "The options of `export` go before the arguments are parsed.",
            edit("quayside/__main__.py", "    options = parser.parse_args(arguments)", PARSER_NEW),
        )
        s.agent("", shell("python -m quayside export --format json"), shell("python -m quayside week 31 --year 2026"))
        s.agent(
            "`store.py` uses Boat and Berth without importing them.",
            edit(
                "quayside/store.py",
                "from quayside.schedule import Schedule, Stay",
                "from quayside.berths import Berth, Boat\nfrom quayside.schedule import Schedule, Stay",
            ),
            thinking="NameError in load_boats. The module only imports from schedule. berths does not import store, so there is no cycle.",
        )
        s.agent("", shell("python -m quayside export --format json"))
        s.agent(
            "All six stays are there. I'll add tests for the readers' errors.", write("tests/test_store.py", STORE_TEST)
        )
        s.agent("", shell("python -m unittest tests.test_store"))
        s.agent("", shell("python -m unittest 2>&1 | tail -3"), shell("git diff"))
        s.agent(
            "`export` prints every stay with nights, net and gross price. The readers name the file's line in every error. The price of seven-night stays is without the weekly discount: that is the `> 7` in `Tariff.stay`, which I left alone."
        )
        s.user("Fix that discount too, please, and show me the export again.")
        s.agent(
            "",
            edit("quayside/tariffs.py", "        if len(days) > 7:", "        if len(days) >= 7:"),
            thinking="The docstring says from seven on; test_seven_nights_are_a_week fails today because of it.",
        )
        s.agent("", shell("python -m unittest tests.test_tariffs"), shell("python -m quayside export --format json"))
        s.agent("Nordlicht and Mère l'Oye now have the discount.")
        s.user("And now CSV beside JSON.")
        body = play.anthropic_body(s, "claude-sonnet-4-5-20250929")
        body["thinking"] = {"type": "enabled", "budget_tokens": 2048}
        return body


STORE_OLD = '''\
def load(text):
    """A schedule from text; errors name the line."""
    schedule = Schedule()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [f.strip() for f in line.split(";")]
        if len(fields) != 4:
            raise ValueError(f"line {number}: {len(fields)} fields, expected berth;boat;arrives;leaves")
        berth, boat, arrives, leaves = fields
        try:
            stay = Stay(boat, berth, date.fromisoformat(arrives), date.fromisoformat(leaves))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        schedule.book(stay)
    return schedule'''

STORE_NEW = '''\
def _rows(text, names):
    """The fields of each line, with its number; blank lines and # comments are skipped."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [f.strip() for f in line.split(";")]
        if len(fields) != len(names):
            raise ValueError(f"line {number}: {len(fields)} fields, expected {';'.join(names)}")
        yield number, fields


def load(text):
    """A schedule from text; errors name the line."""
    schedule = Schedule()
    for number, (berth, boat, arrives, leaves) in _rows(text, ("berth", "boat", "arrives", "leaves")):
        try:
            stay = Stay(boat, berth, date.fromisoformat(arrives), date.fromisoformat(leaves))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        schedule.book(stay)
    return schedule


def load_boats(text):
    """Boats by name."""
    boats = {}
    for number, (name, length, beam, draught, port) in _rows(text, ("name", "length", "beam", "draught", "home port")):
        try:
            boats[name] = Boat(name, float(length), float(beam), float(draught), port)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    return boats


def load_berths(text):
    """Berths by code."""
    berths = {}
    for number, (code, length, beam, dries, power) in _rows(text, ("code", "length", "beam", "dries", "power")):
        if power not in ("yes", "no"):
            raise ValueError(f"line {number}: power is {power!r}, expected yes or no")
        try:
            berths[code] = Berth(code, float(length), float(beam), float(dries), power == "yes")
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    return berths'''

MAIN_OLD = """    berths = {stay.berth for stay in schedule}
    print(report"""

MAIN_NEW = """    if options.command == "export":
        boats = store.load_boats(options.boats.read_text(encoding="utf-8"))
        berths = store.load_berths(options.berths.read_text(encoding="utf-8"))
        invoices = ledger.Ledger()
        rows = []
        for stay in schedule:
            bill = invoices.bill(stay, boats[stay.boat], berths[stay.berth])
            rows.append({"boat": stay.boat, "berth": stay.berth, "arrives": str(stay.arrives), "leaves": str(stay.leaves), "nights": stay.nights, "net": str(bill.net), "gross": str(bill.gross)})
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return 0
    berths = {stay.berth for stay in schedule}
    print(report"""

PARSER_NEW = """    export = commands.add_parser("export", help="print all stays with their prices")
    export.add_argument("--format", choices=["json"], default="json")
    export.add_argument("--bookings", type=Path, default=Path("bookings.txt"))
    export.add_argument("--boats", type=Path, default=Path("boats.txt"))
    export.add_argument("--berths", type=Path, default=Path("berths.txt"))
    options = parser.parse_args(arguments)"""

BOATS = """\
# name;length;beam;draught;home port
Seeschwalbe;8.2;2.7;1.3;Husum
Nordlicht;9.4;3.1;1.6;Bergen
海風;11.0;3.4;1.9;長崎
Ørn;7.1;2.4;1.1;Tromsø
Mère l'Oye;12.6;3.9;2.0;Saint-Malo
조용한 파도;8.8;2.9;1.4;여수
"""

BERTHS = """\
# code;length;beam;dries;power
A1;10;3.6;-0.5;yes
A2;12;4.2;-0.5;yes
A3;12;4.2;-0.2;yes
B1;8;3.2;0.4;no
B2;14;4.8;0.1;yes
C1;10;3.6;0.8;no
"""

STORE_TEST = """\
import unittest

from quayside import store


class StoreTest(unittest.TestCase):
    def test_boats(self):
        boats = store.load_boats("# comment\\n\\nØrn;7.1;2.4;1.1;Tromsø\\n")
        self.assertEqual(boats["Ørn"].draught_metres, 1.1)

    def test_errors_name_the_line(self):
        for reader, text in [
            (store.load, "A1;Ørn;2026-07-27\\n"),
            (store.load_boats, "Ørn;seven;2.4;1.1;Tromsø\\n"),
            (store.load_berths, "A1;10;3.6;0.5;maybe\\n"),
        ]:
            with self.assertRaisesRegex(ValueError, "line 1"):
                reader(text)


if __name__ == "__main__":
    unittest.main()
"""
