"""Texts of the kinds that agents read and no package holds, made by a seeded generator from words that packages hold.

`MADE` has, by kind, what makes a text of some size from a `Pool` of words; `MADE_EACH` how many the estimator is fitted
on, where it is not the usual number.
"""

# ruff: noqa: E501  # what makes a line of text stays one line

import base64
import difflib
import hashlib
import json
import random
import re
import textwrap


class Pool:
    """Words and lines that made texts draw from."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.code: list[str] = []
        self.names: list[str] = ["main"]
        self.sentences: list[str] = []
        self.foreign: list[str] = []

    def learn(self, kind: str, language: str, text: str) -> None:
        lines = [line for line in text[:4_000].split("\n") if line.strip()]
        if kind == "code":
            self.code.extend(text[:3_000].split("\n"))
            self.names.extend(re.findall(r"[A-Za-z_][A-Za-z0-9_]{2,}", text[:1_500]))
        elif kind in ("prose", "docstrings") and language.startswith("en"):
            self.lines.extend(lines)
            self.sentences.extend(re.findall(r"[A-Z][^.\n]{30,200}\.", text[:8_000]))
        elif kind == "prose":
            self.foreign.extend(lines[:20])


class Maker:
    """Draws of one text."""

    def __init__(self, chance: random.Random, pool: Pool) -> None:
        self.chance, self.pool = chance, pool

    def word(self) -> str:
        return self.chance.choice(self.pool.names)

    def words(self, least: int, most: int) -> str:
        line = self.chance.choice(self.pool.lines)
        return " ".join(line.split()[: self.chance.randint(least, most)])

    def sentence(self) -> str:
        return re.sub(r"\s+", " ", self.chance.choice(self.pool.sentences))

    def hex(self, digits: int) -> str:
        return f"{self.chance.getrandbits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        return "-".join(self.hex(n) for n in (8, 4, 4, 4, 12))

    def date(self) -> str:
        c = self.chance
        return f"{c.randint(2015, 2027)}-{c.randint(1, 12):02}-{c.randint(1, 28):02}"

    def clock(self) -> str:
        c = self.chance
        return f"{c.randint(0, 23):02}:{c.randint(0, 59):02}:{c.randint(0, 59):02}"

    def stamp(self) -> str:
        style = self.chance.randint(0, 4)
        if style == 0:
            return f"{self.date()}T{self.clock()}.{self.chance.randint(0, 999_999):06}Z"
        if style == 1:
            return f"{self.date()} {self.clock()},{self.chance.randint(0, 999):03}"
        if style == 2:
            return f"[{self.clock()}]"
        if style == 3:
            month = self.chance.choice(
                ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
            )
            return f"{month} {self.chance.randint(1, 28):2} {self.clock()}"
        return f"{self.date()}T{self.clock()}+00:00"

    def path(self) -> str:
        roots = ("/usr/lib", "/home/user/project", "src", "tests", "./", "/workspace", "app", "C:\\Users\\user", "/tmp")
        parts = [self.word().lower() for _ in range(self.chance.randint(1, 4))]
        ends = (".py", ".ts", ".js", ".json", ".md", ".txt", ".rs", ".go", ".yaml", "", ".log", ".html", ".tsx")
        return "/".join([self.chance.choice(roots), *parts]) + self.chance.choice(ends)

    def number(self) -> str:
        c = self.chance
        style = c.randint(0, 4)
        if style == 0:
            return str(c.randint(0, 99))
        if style == 1:
            return str(c.randint(100, 10 ** c.randint(3, 12)))
        if style == 2:
            return f"{c.uniform(0, 10 ** c.randint(0, 4)):.{c.randint(1, 4)}f}"
        if style == 3:
            return repr(c.random())
        return str(-c.randint(1, 9_999))

    def price(self) -> str:
        return f"{self.chance.choice('$€£')}{self.chance.uniform(1, 2_000):,.2f}"

    def code_name(self) -> str:
        return "".join(
            self.chance.choice("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(self.chance.randint(3, 9))
        )

    def person(self) -> str:
        first = (
            "James Mary Wei Olga Raj Fatima Noah Emma Yusuf Chen Ivan Sofia Mei Lucas Ava Liam Mia Omar Amelia Ethan"
        )
        last = (
            "Smith Johnson Garcia Kim Nguyen Patel Müller Rossi Silva Brown Ahmed Kovacs Lopez Wilson Davis Moore Lee"
        )
        return f"{self.chance.choice(first.split())} {self.chance.choice(last.split())}"

    def handle(self) -> str:
        first, last = self.person().lower().split()
        return f"{first}_{last}_{self.chance.randint(1_000, 9_999)}"

    def value(self, depth: int) -> object:
        c = self.chance
        style = c.random()
        if depth and style < 0.18:
            return {self.key(): self.value(depth - 1) for _ in range(c.randint(1, 6))}
        if depth and style < 0.28:
            return [self.value(depth - 1) for _ in range(c.randint(0, 5))]
        makers = (
            self.uuid, self.date, self.stamp, self.path, lambda: c.randint(0, 10 ** c.randint(1, 10)),
            lambda: round(c.uniform(0, 1_000), c.randint(1, 4)), lambda: c.choice((True, False, None)),
            lambda: self.words(1, 4), lambda: self.words(2, 12), self.sentence, self.word, self.handle,
            self.code_name, lambda: self.hex(c.choice((8, 16, 32, 40))), self.url, self.email,
            lambda: c.choice(("ok", "active", "pending", "error", "available", "economy", "completed", "user")),
        )  # fmt: skip
        return c.choice(makers)()

    def key(self) -> str:
        known = [
            "id",
            "name",
            "type",
            "status",
            "created_at",
            "updated_at",
            "url",
            "path",
            "size",
            "count",
            "user_id",
            "email",
            "address",
            "city",
            "country",
            "price",
            "date",
            "start_time",
            "end_time",
            "description",
            "title",
            "content",
            "text",
            "items",
            "data",
            "metadata",
            "value",
            "results",
            "total",
            "limit",
            "origin",
            "destination",
            "flight_number",
            "order_id",
            "product_id",
            "payment_methods",
            "message",
            "error",
            "code",
            "details",
            "tags",
            "version",
            "kind",
            "label",
            "score",
            "index",
            "parent",
            "children",
            "options",
            "enabled",
            "quantity",
            "reservation_id",
            "first_name",
            "last_name",
            "membership",
            "passengers",
            "history",
            "amount",
            "source",
            "role",
        ]
        if self.chance.random() < 0.7:
            return self.chance.choice(known)
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.word()).lower()

    def url(self) -> str:
        host = self.chance.choice(("example.com", "github.com", "docs.python.org", "api.example.org", "localhost:8080"))
        end = self.chance.choice(
            ("", f"?id={self.chance.randint(1, 99_999)}&q={self.word()}", f"#{self.word()}", ".html")
        )
        return f"https://{host}/" + "/".join(self.word().lower() for _ in range(self.chance.randint(1, 4))) + end

    def email(self) -> str:
        return f"{self.word().lower()}{self.chance.randint(1, 9_999)}@example.com"


def _lines(make_line):
    def make(chance: random.Random, pool: Pool, size: int) -> str:
        maker, lines, length = Maker(chance, pool), [], 0
        line_of = make_line(maker)
        while length < size:
            line = line_of()
            lines.append(line)
            length += len(line) + 1
        return "\n".join(lines)

    return make


def _log(m: Maker):
    c = m.chance
    style, logger = c.randint(0, 4), [m.word() for _ in range(5)]
    levels = ("INFO", "DEBUG", "WARNING", "ERROR", "info", "warn")

    def line() -> str:
        level = c.choice(levels)
        if style == 0:
            return f"{m.stamp()} {level} {c.choice(logger)}: {m.words(3, 12)} {m.word()}={m.number()}"
        if style == 1:
            ip = ".".join(str(c.randint(1, 254)) for _ in range(4))
            return (
                f'{ip} - - [{c.randint(1, 28):02}/Mar/2026:{m.clock()} +0000] "GET /{m.word().lower()}/{c.randint(1, 9_999)}'
                f' HTTP/1.1" {c.choice((200, 304, 404, 500))} {c.randint(100, 99_999)} "-" "Mozilla/5.0"'
            )
        if style == 2:
            return f"{m.stamp()} host {c.choice(logger)}[{c.randint(100, 99_999)}]: {m.words(4, 14)} id={m.uuid()}"
        if style == 3:
            return json.dumps({"ts": m.stamp(), "level": level, "msg": m.words(3, 10), m.key(): m.value(0)})
        return f"[{m.clock()}] {level} ({c.choice(logger)}): {m.words(3, 10)} took {c.randint(1, 9_999)}ms {m.hex(8)}"

    return line


def _listing(m: Maker):
    c = m.chance
    style, place = c.randint(0, 5), m.path()

    def line() -> str:
        if style == 0:
            mode = c.choice(("drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x", "lrwxrwxrwx"))
            return f"{mode} {c.randint(1, 30):2} user user {c.randint(0, 10 ** c.randint(2, 8)):8} Nov {c.randint(1, 28):2} {m.clock()[:5]} {m.word().lower()}.py"
        if style == 1:
            return m.path()
        if style == 2:
            return f"{place}:{c.randint(1, 2_000)}:{c.choice(m.pool.code)}"
        if style == 3:
            return f"{c.choice(('├── ', '│   ├── ', '│   │   └── ', '    '))}{m.word().lower()}{c.choice(('.py', '/', '.json'))}"
        if style == 4:
            return f"{m.word():24} {c.randint(0, 9)}.{c.randint(0, 30)}.{c.randint(0, 9)}   {m.words(2, 6)}"
        return f"{m.path()}  | {c.randint(1, 300):3} {'+' * c.randint(0, 30)}{'-' * c.randint(0, 20)}"

    return line


def _numbered(chance: random.Random, pool: Pool, size: int) -> str:
    style = chance.choice(("{:6}\t{}", "{}: {}", "{:>5}→{}", "{:4} | {}"))
    at = chance.randint(1, 500)
    return "\n".join(style.format(at + k, line) for k, line in enumerate(_code_lines(chance, pool, size)))


def _code_lines(chance: random.Random, pool: Pool, size: int) -> list[str]:
    start = chance.randrange(max(1, len(pool.code) - 200))
    lines, length = [], 0
    for line in pool.code[start:]:
        lines.append(line)
        length += len(line) + 1
        if length > size:
            break
    return lines


def _diff(chance: random.Random, pool: Pool, size: int) -> str:
    before = _code_lines(chance, pool, size)
    after, maker = [], Maker(chance, pool)
    for line in before:
        draw = chance.random()
        if draw < 0.06:
            continue
        after.append(line.replace("self", maker.word()).replace("return", "yield") if draw < 0.16 else line)
        if draw > 0.95:
            after.append("    " + maker.word() + " = " + maker.number())
    name = maker.path()
    head = (
        f"diff --git a/{name} b/{name}\nindex {maker.hex(7)}..{maker.hex(7)} 100644\n" if chance.random() < 0.6 else ""
    )
    return head + "\n".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm=""))


def _tool_result(chance: random.Random, pool: Pool, size: int) -> str:
    maker = Maker(chance, pool)
    shape = chance.random()
    indent = chance.choice((None, None, None, 2, 4))
    separators = chance.choice(((",", ":"), (", ", ": "))) if indent is None else None
    keys = [maker.key() for _ in range(chance.randint(3, 12))]
    items: list[object] = []
    length = 0
    while length < size:
        if shape < 0.6:
            item: object = {key: maker.value(1) for key in keys}
        else:
            item = maker.value(3)
        items.append(item)
        length += len(json.dumps(item))
    value: object = items if shape < 0.5 else {maker.key() + str(k): item for k, item in enumerate(items)}
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.15:
        return json.dumps({"output": text, "metadata": {"exit_code": 0, "duration_seconds": 0.4}})
    return repr(value) if chance.random() < 0.15 else text


def _fares(chance: random.Random, pool: Pool, size: int) -> str:
    """Records of a shop or an airline: codes, prices, times."""
    maker = Maker(chance, pool)
    keys = [maker.key() for _ in range(3)]
    out: list[object] = []
    while len(json.dumps(out)) < size:
        prices = {name: chance.randint(50, 900) for name in ("basic_economy", "economy", "business")}
        out.append({
            "flight_number": f"HAT{chance.randint(1, 300):03}", "origin": maker.code_name()[:3], "status": "available",
            "scheduled_departure_time_est": maker.clock(), "available_seats": {k: chance.randint(0, 20) for k in prices},
            "prices": prices, "item_id": str(chance.randint(10**9, 10**10)), **{key: maker.value(0) for key in keys},
        })  # fmt: skip
    return json.dumps(out)


def _blob(chance: random.Random, pool: Pool, size: int) -> str:
    maker, style = Maker(chance, pool), chance.randint(0, 4)
    data = chance.randbytes(size)
    if style == 0:
        text = base64.b64encode(data).decode()
        return "\n".join(textwrap.wrap(text, 76)) if chance.random() < 0.5 else text
    if style == 1:
        return data.hex()
    if style == 2:
        return "\n".join(maker.uuid() for _ in range(size // 37 + 1))
    if style == 3:
        return "\n".join(
            f"{hashlib.sha256(bytes([k % 256])).hexdigest()}  {maker.path()}" for k in range(size // 90 + 1)
        )
    rows = [data[k : k + 16] for k in range(0, len(data), 16)]
    return "\n".join(f"{16 * k:08x}  {row.hex(' ')}" for k, row in enumerate(rows))


def _lock(m: Maker):
    c = m.chance
    style = c.randint(0, 2)

    def line() -> str:
        name, version = m.word().lower(), f"{c.randint(0, 9)}.{c.randint(0, 30)}.{c.randint(0, 9)}"
        digest = base64.b64encode(c.randbytes(64)).decode()
        if style == 0:
            return f'    "node_modules/{name}": {{\n      "version": "{version}",\n      "resolved": "https://registry.example.org/{name}/-/{name}-{version}.tgz",\n      "integrity": "sha512-{digest}"\n    }},'
        if style == 1:
            return f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = "registry+https://example.org/index"\nchecksum = "{m.hex(64)}"\n'
        return f"{name}=={version} \\\n    --hash=sha256:{m.hex(64)} \\\n    --hash=sha256:{m.hex(64)}"

    return line


def _table(m: Maker):
    c = m.chance
    style, columns = c.randint(0, 3), c.randint(2, 8)
    makers = [
        c.choice((m.number, m.date, lambda: m.words(1, 3), m.word, m.uuid, m.price, m.code_name, m.person))
        for _ in range(columns)
    ]

    def line() -> str:
        cells = [make() for make in makers]
        if style == 0:
            return ",".join(cells)
        if style == 1:
            return "| " + " | ".join(cells) + " |"
        if style == 2:
            return "".join(f"{cell:<16}" for cell in cells)
        return "\t".join(cells)

    return line


def _trace(m: Maker):
    c = m.chance

    def line() -> str:
        draw = c.random()
        if draw < 0.15:
            return "Traceback (most recent call last):"
        if draw < 0.3:
            return f"{m.word()}Error: {m.words(3, 12)} '{m.word()}'"
        if draw < 0.35:
            return f"E       assert {m.word()} == {m.number()}"
        if draw < 0.4:
            return f"FAILED {m.path()}::{m.word()} - AssertionError: {m.words(2, 8)}"
        if draw < 0.45:
            return f"{m.path()} {'.' * c.randint(1, 60)} [{c.randint(1, 100):3}%]"
        return f'  File "{m.path()}", line {c.randint(1, 2_000)}, in {m.word()}\n    {c.choice(m.pool.code).strip()}'

    return line


def _chat(m: Maker):
    c = m.chance

    def line() -> str:
        draw = c.random()
        if draw < 0.15:
            return f"- **{m.words(1, 4)}**: {m.sentence()}"
        if draw < 0.25:
            return f"{c.randint(1, 9)}. {m.sentence()}"
        if draw < 0.3:
            return f"I'll look at `{m.path()}` and run `{m.word()}`. {m.sentence()}"
        if draw < 0.35:
            return (
                f"Your reservation **{m.code_name()}** for {m.person()} ({m.handle()}) on {m.date()} costs {m.price()}."
            )
        if draw < 0.4:
            return f"## {m.words(2, 6)}\n"
        return " ".join(m.sentence() for _ in range(c.randint(1, 4))) + c.choice(("", "\n"))

    return line


def _command(m: Maker):
    c = m.chance

    def line() -> str:
        draw = c.random()
        if draw < 0.3:
            return json.dumps(
                {"command": f"cd {m.path()} && grep -rn '{m.word()}' {m.path()} | head -{c.randint(5, 50)}"}
            )
        if draw < 0.6:
            return json.dumps(
                {m.key(): m.value(1) for _ in range(c.randint(1, 4))}, separators=c.choice(((",", ":"), (", ", ": ")))
            )
        if draw < 0.8:
            code = "\n".join(c.choice(m.pool.code) for _ in range(c.randint(2, 8)))
            return json.dumps({"path": m.path(), "old_str": code, "new_str": code.replace("self", m.word())})
        return f"$ {m.word().lower()} --{m.word().lower()}={m.number()} -{c.choice('abcdefv')} {m.path()} 2>&1"

    return line


def _edit(chance: random.Random, pool: Pool, size: int) -> str:
    """A call that writes into a file: code or prose as a string of JSON."""
    maker = Maker(chance, pool)
    style = chance.random()
    if style < 0.65:
        lines = _code_lines(chance, pool, size // 2)
        tabs = chance.random() < 0.3
        before = "\n".join(re.sub("^( {4})+", lambda m: "\t" * (len(m[0]) // 4), x) if tabs else x for x in lines)
        after = before.replace(maker.word(), maker.word()).replace("return", "yield")
    else:
        before = _lines(_chat)(chance, pool, size // 2)
        after = before.replace(". ", ".\n")
    keys = chance.choice(
        (("file_path", "old_string", "new_string"), ("path", "oldText", "newText"), ("path", "a", "b"))
    )
    arguments: dict[str, object] = dict(zip(keys, (maker.path(), before, after), strict=True))
    if style < 0.15:
        arguments = {"command": f"cat > {maker.path()} << 'EOF'\n{before}\nEOF"}
    elif style < 0.3 or style > 0.9:
        arguments = {keys[0]: maker.path(), "content": before}
    name = chance.choice(("edit", "Edit", "write_file", "str_replace_editor", "bash", "python"))
    text = json.dumps(arguments, separators=chance.choice(((",", ":"), (", ", ": "))), ensure_ascii=False)
    return f"{name}\n{text}"


def _terminal(m: Maker):
    """What a program writes to a terminal: colours, cursors, boxes, spinners."""
    c = m.chance

    def styled(text: str) -> str:
        codes = ";".join(
            str(c.choice((0, 1, 2, 4, 22, 39, 49, c.randint(30, 37), c.randint(90, 97))))
            for _ in range(c.randint(1, 2))
        )
        long = f"38;5;{c.randint(0, 255)}"
        return f"\x1b[{codes if c.random() < 0.8 else long}m{text}\x1b[{c.choice(('0', '39', '22', ''))}m"

    def line() -> str:
        draw = c.random()
        if draw < 0.3:
            return f"{styled(m.path())}:{styled(str(c.randint(1, 900)))} {m.words(2, 8)}"
        if draw < 0.45:
            return f"\x1b[2K\x1b[{c.randint(1, 9)}G{styled(c.choice('?✔✖→⠋⠙⠹'))} {styled(m.words(1, 6))}"
        if draw < 0.6:
            return f" {styled(c.choice('✓│┃▶'))} {m.words(1, 6)} {styled(f'{c.randint(1, 999)}ms')}"
        if draw < 0.7:
            rule = c.choice("─━⎯╌=-") * c.randint(3, 60)
            return c.choice((styled(rule), f"╭{rule}╮", f"╰{rule}╯", f"{styled(rule)} {m.words(1, 3)} {styled(rule)}"))
        if draw < 0.85:
            return styled(c.choice(m.pool.code))
        return m.words(2, 12)

    return line


def _drawing(m: Maker):
    """Boxes, trees, rules and bars out of characters that are drawn with."""
    c = m.chance
    style, width = c.randint(0, 6), c.randint(8, 90)
    dash = c.choice("─━═▬█▓░▒·•—⠿■∙…*-=_#+~./%")

    def line() -> str:
        draw = c.random()
        if style == 0:
            return c.choice(
                (dash * width, f"{dash * c.randint(2, 30)} {m.words(1, 4)} {dash * c.randint(2, 60)}", m.sentence())
            )
        if style == 1:
            if draw < 0.3:
                return c.choice(("┌{}┐", "└{}┘", "├{}┤", "╭{}╮", "╰{}╯", "┏{}┓")).format(c.choice("─━") * width)
            return f"│ {m.words(1, 8):<{width - 2}} │"
        if style == 2:
            return (
                c.choice(("├── ", "└── ", "│   ├── ", "│   │   └── ", "│\xa0\xa0 ├── "))
                + m.word().lower()
                + c.choice(("", ".py"))
            )
        if style == 3:
            done = c.randint(0, 40)
            return (
                f"{m.word()} {c.choice('█━#=')}".ljust(12)
                + c.choice("█━#=") * done
                + c.choice("░╺-. ") * (40 - done)
                + f" {m.number()}/{m.number()} MB"
            )
        if style == 4:
            return (
                "+" + "+".join("-" * c.randint(3, 24) for _ in range(3)) + "+"
                if draw < 0.3
                else f"| {m.words(1, 3):<20} | {m.number():>12} |"
            )
        if style == 5:
            return (
                f"{c.choice('✓✔✗❌✅⚠️→▶●○◆★')} {m.words(2, 9)} {c.choice(('', '→ ' + m.word(), '• ' + m.words(1, 3)))}"
            )
        repeated = (
            " ",
            "\t",
            "\u2003",
            "\xa0",
            "\\x00",
            "\\u0000",
            "\x00",
            "\x01",
            "0",
            *"AHSXaesx",
            *"=-~_#/+%.:;!?<>]{^@",
        )
        return c.choice(repeated) * c.randint(1, 120)

    return line


PLAIN = (
    "Let me {do} {what} first and see what it says.",
    "The user wants me to {do} {what}, so I need to find out where it is.",
    "I should {do} {what} before I {do} {what}.",
    "It looks like {what} is not there, but {what} is.",
    "Now I can see that {what} has been changed, and that the problem is with {what}.",
    "That didn't work. Maybe {what} needs to be {done} again?",
    "So we have to {do} {what} and then {do} {what}.",
    "Wait, this is not what was asked for: they said that {what} should be {done}.",
    "I've {done} {what}, and it's working as expected now.",
    "There are two ways to do this: either {do} {what}, or {do} {what}.",
    "Since {what} was {done} already, we don't have to {do} it again.",
    "Could you please {do} {what} for me? I think it was {done} last week.",
    "Thank you for your help with {what}! Is there anything else that I can do for you today?",
    "I'm sorry, but I can't {do} {what} without {what}.",
    "If {what} is {done}, then {what} will not be {done} at all.",
    "Let's check whether {what} still works after {what} was {done}.",
    "You are a helpful assistant that can {do} {what} when the user asks for it.",
    "Do not {do} {what} unless you are told to; always {do} {what} instead.",
    "OK, here's what I know so far about {what} and how it was {done}.",
    "One more thing: make sure that {what} is {done} only once.",
)
DO = "look at|open|read|check|change|remove|add|find|run|fix|write|update|test|try|use|get|keep|move|show|explain|install|create"
DONE = "looked at|opened|read|checked|changed|removed|added|found|run|fixed|written|updated|tested|tried|used|kept|moved|shown"
WHAT = (
    "the file|the test|the error|this function|the first line|the output|the whole thing|the order|the data|your account|"
    "the result|the code|that part|the other one|the list of names|the next step|the server|the page|their answer|the build|"
    "the version|the configuration|the database|the message|the project|the method|the value|the question|the image"
)


def _plain(m: Maker):
    """What a model or a user writes to itself: everyday words."""
    c = m.chance

    def words(match: re.Match[str]) -> str:
        if match[1] == "what" and c.random() < 0.25:
            return c.choice((m.word(), f"`{m.path()}`", f'"{m.words(1, 4)}"', m.person(), m.date()))
        return c.choice({"do": DO, "done": DONE, "what": WHAT}[match[1]].split("|"))

    def line() -> str:
        said = " ".join(re.sub(r"\{(\w+)\}", words, c.choice(PLAIN)) for _ in range(c.randint(1, 5)))
        return c.choice(("", "", "", "- ", "1. ", "**Note**: ")) + said + c.choice(("", "", "\n"))

    return line


def _markup(m: Maker):
    c = m.chance

    def line() -> str:
        tag = c.choice(("div", "span", "a", "li", "p", "td", "button", m.word()))
        draw = c.random()
        if draw < 0.6:
            return f'{"  " * c.randint(0, 6)}<{tag} class="{m.word().lower()}-{m.word().lower()}" id="{m.hex(6)}" href="{m.url()}">{m.words(1, 10)}</{tag}>'
        if draw < 0.8:
            return f"{'  ' * c.randint(0, 4)}{m.key()}: {m.words(1, 5)}"
        return f"  - [{m.words(1, 5)}]({m.url()})"

    return line


def _mixed(m: Maker):
    c = m.chance

    def line() -> str:
        return f"{c.choice(m.pool.foreign)} {m.words(1, 5)} {c.choice(('', '👍', '✅', '🎉 ', '—', '…', '→'))}"

    return line


def _capitals(m: Maker):
    """Notices, headings and old programs, in capitals only."""
    c = m.chance
    style = c.randint(0, 7)

    def line() -> str:
        if style < 3:
            said = c.choice(m.pool.foreign)
        elif style == 3:
            said = f"{m.words(1, 5)}: {m.number()}"
        elif style == 4:
            said = (
                f"select {m.key()}, {m.key()} from {m.word()} where {m.key()} = '{m.words(1, 3)}' order by {m.key()};"
            )
        else:
            said = " ".join(m.sentence() for _ in range(c.randint(1, 4)))
        return said if style == 7 and c.random() < 0.5 else said.upper()

    return line


MADE = {
    "log": _lines(_log),
    "listing": _lines(_listing),
    "numbered": _numbered,
    "diff": _diff,
    "tool result": _tool_result,
    "records": _fares,
    "blob": _blob,
    "lock": _lines(_lock),
    "table": _lines(_table),
    "traceback": _lines(_trace),
    "chat": _lines(_chat),
    "command": _lines(_command),
    "markup": _lines(_markup),
    "mixed": _lines(_mixed),
    "edit": _edit,
    "drawing": _lines(_drawing),
    "terminal": _lines(_terminal),
    "plain": _lines(_plain),
    "capitals": _lines(_capitals),
}
MADE_EACH = {
    "tool result": 700,
    "log": 500,
    "listing": 500,
    "chat": 500,
    "numbered": 400,
    "diff": 400,
    "command": 400,
    "traceback": 300,
    "table": 300,
    "edit": 600,
    "drawing": 400,
    "terminal": 250,
    "plain": 300,
    "capitals": 500,
}
