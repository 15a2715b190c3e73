"""Reads and writes bookings as text, one a line: berth;boat;arrives;leaves."""

from datetime import date

from quayside.schedule import Schedule, Stay


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
    return schedule


def dump(schedule):
    """The text that `load` reads."""
    return "".join(f"{s.berth};{s.boat};{s.arrives};{s.leaves}\n" for s in schedule)
