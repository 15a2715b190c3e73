"""`python -m quayside week 31`"""

import argparse
import sys
from datetime import date
from pathlib import Path

from quayside import report, store


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="quayside")
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("week", help="print who lies where in an ISO week")
    show.add_argument("number", type=int)
    show.add_argument("--year", type=int, default=date.today().year)
    show.add_argument("--bookings", type=Path, default=Path("bookings.txt"))
    check = commands.add_parser("check", help="read a bookings file and say what is wrong")
    check.add_argument("bookings", type=Path)
    options = parser.parse_args(arguments)
    try:
        schedule = store.load(options.bookings.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(f"quayside: {error}", file=sys.stderr)
        return 2
    if options.command == "check":
        print(f"{len(schedule)} stays")
        return 0
    berths = {stay.berth for stay in schedule}
    print(report.week_table(schedule, berths, options.year, options.number))
    return 0


if __name__ == "__main__":
    sys.exit(main())
