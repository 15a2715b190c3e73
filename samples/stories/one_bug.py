"""One short session, spelled in each format that the others are not in."""

from collections.abc import Iterator
from contextlib import contextmanager

from play import Session, edit, read, session, shell

CODER = """\
You are a coding agent. You work in the folder of one project with the tools you are given. Read before you change, and
run the tests after each change."""


@contextmanager
def one_bug() -> Iterator[Session]:
    """Two stays that touch share no night."""
    with session("quayside", CODER) as s:
        s.user("A boat that leaves on the 13th and one that comes on the 13th are said to overlap. Is that right?")
        s.agent("I read the code and its test.", read("quayside/schedule.py"), read("tests/test_schedule.py"))
        s.agent("", shell("python -m unittest tests.test_schedule"))
        s.agent(
            "No: the morning of departure is no night, so both comparisons must be strict.",
            edit(
                "quayside/schedule.py",
                "    return a.arrives <= b.leaves and b.arrives <= a.leaves",
                "    return a.arrives < b.leaves and b.arrives < a.leaves",
            ),
        )
        s.agent("", shell("python -m unittest tests.test_schedule"))
        s.agent("They no longer overlap, and the tests of the schedule that asked for it pass.")
        s.user("Which tests of the schedule still fail, if any?")
        s.agent("", shell("python -m unittest tests.test_schedule 2>&1 | tail -3"))
        s.agent("The last line of the run says it: see above.")
        yield s
