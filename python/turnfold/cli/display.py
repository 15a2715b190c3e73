"""What goes to stdout: JSON lines for programs, tables for people, each row as soon as it is known."""

import importlib.util
import sys
from collections.abc import Sequence

import msgspec

from turnfold.cli.faults import printable


class Column(msgspec.Struct, frozen=True):
    """A column of a table; width 0 takes what the others leave."""

    title: str
    width: int
    right: bool = False


def write_record(record: msgspec.Struct) -> None:
    """One JSON object on one line of stdout."""
    _write(msgspec.json.encode(record) + b"\n")


def write_records(records: bytes) -> None:
    """The objects of a JSON array, each on one line of stdout."""
    for record in msgspec.json.decode(records, type=list[msgspec.Raw]):
        _write(bytes(record) + b"\n")


def write_text(text: str) -> None:
    """One line of text on stdout."""
    _write(printable(text).encode("utf-8", "replace") + b"\n")


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


class Table:
    """A table that is printed row by row, so that it never waits for its last row."""

    def __init__(self, columns: Sequence[Column], *, rule: bool = False) -> None:
        import shutil

        width = shutil.get_terminal_size((120, 24)).columns
        fixed = sum(c.width for c in columns) + 2 * (len(columns) - 1)
        self._columns = tuple(
            c if c.width else msgspec.structs.replace(c, width=max(16, width - fixed)) for c in columns
        )
        self._styled = sys.stdout.isatty() and importlib.util.find_spec("rich") is not None
        self._rule = rule
        self._started = False

    def row(self, cells: Sequence[str], style: str = "") -> None:
        """Print one row, and the heading before the first one."""
        if not self._started:
            self._started = True
            self._print([c.title for c in self._columns], "bold")
            if self._rule:
                self.rule()
        self._print(cells, style)

    def rule(self) -> None:
        """Print a line across the table."""
        write_text("─" * (sum(c.width for c in self._columns) + 2 * (len(self._columns) - 1)))

    def _print(self, cells: Sequence[str], style: str) -> None:
        parts = []
        for column, cell in zip(self._columns, cells, strict=True):
            text = shorten(printable(cell), column.width)
            parts.append(text.rjust(column.width) if column.right else text.ljust(column.width))
        line = "  ".join(parts).rstrip()
        if not self._styled or not style:
            write_text(line)
            return
        from rich.console import Console
        from rich.text import Text

        Console(soft_wrap=True, highlight=False).print(Text(line, style=style))


def place(path: str, index: int | None, identifier: str | None = None) -> str:
    """Return a transcript's place: the path, and its id or index where the file may hold more than one."""
    if identifier is not None:
        return f"{path}#{identifier}"
    alone = index is None or (index == 0 and path != "-" and ".jsonl" not in path)
    return path if alone else f"{path}[{index}]"


def shorten(text: str, width: int) -> str:
    """Return the text in at most `width` characters; a longer one loses its start, as the end of a path says more."""
    return text if len(text) <= width else "…" + text[len(text) - width + 1 :]


def amount(value: int, unit: str) -> str:
    """Return a number with its unit, which is plural but for one."""
    return f"{number(value)} {unit}" if value == 1 else f"{number(value)} {unit}s"


def number(value: int) -> str:
    """Return an integer with thousands separated."""
    return f"{value:,}"
