import unittest
from datetime import date

from quayside.schedule import Clash, Schedule, Stay, week


def stay(boat, arrives, leaves, berth="A1"):
    return Stay(boat, berth, date(2026, 7, arrives), date(2026, 7, leaves))


class ScheduleTest(unittest.TestCase):
    def test_same_night_clashes(self):
        schedule = Schedule([stay("Nordlicht", 10, 13)])
        with self.assertRaises(Clash):
            schedule.book(stay("Seeschwalbe", 12, 14))

    def test_next_boat_comes_on_the_day_the_first_leaves(self):
        schedule = Schedule([stay("Nordlicht", 10, 13)])
        schedule.book(stay("Seeschwalbe", 13, 15))
        self.assertEqual(len(schedule), 2)

    def test_free_berths(self):
        schedule = Schedule([stay("Nordlicht", 10, 13), stay("Ørn", 1, 9, berth="B1")])
        self.assertEqual(schedule.free(["A1", "B1"], date(2026, 7, 9), date(2026, 7, 11)), ["B1"])

    def test_week_31(self):
        self.assertEqual(week(2026, 31)[0], date(2026, 7, 27))

    def test_leaves_before_it_arrives(self):
        with self.assertRaises(ValueError):
            stay("Nordlicht", 13, 13)


if __name__ == "__main__":
    unittest.main()
