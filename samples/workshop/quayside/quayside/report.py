"""Tables for the notice board."""

import unicodedata

from quayside.schedule import week


def width(text):
    """Columns that a text takes in a terminal."""
    return len(text)


def pad(text, columns):
    """The text, filled with spaces to a width."""
    return text + " " * max(0, columns - width(text))


def week_table(schedule, berths, year, number):
    """One line a berth, one column a day."""
    days = week(year, number)
    cells = {(s.berth, d): s.boat for d in days for s in schedule.on(d)}
    columns = max([10] + [width(name) for name in cells.values()])
    lines = [pad("berth", 6) + " " + " ".join(pad(f"{d:%a %d.%m}", columns) for d in days)]
    for code in sorted(berths):
        row = " ".join(pad(cells.get((code, d), "."), columns) for d in days)
        lines.append((pad(code, 6) + " " + row).rstrip())
    return "\n".join(lines)


def invoice_lines(ledger):
    """One line an invoice."""
    for invoice in ledger:
        yield f"{invoice.number}  {pad(invoice.boat, 20)} {invoice.berth:>5} {invoice.nights:>3} {invoice.gross:>10}"
