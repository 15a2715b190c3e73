import unittest
from datetime import datetime, timedelta

from quayside.tides import parse_table

TABLE = """
2026-07-28 03:14 5.2   # springs
2026-07-28 09:32 0.9
2026-07-28 15:41 5.4
2026-07-28 21:58 0.7
2026-07-29 04:02 5.3
"""


class TideTest(unittest.TestCase):
    def setUp(self):
        self.table = parse_table(TABLE)

    def test_height_at_an_extreme(self):
        self.assertAlmostEqual(self.table.height(datetime(2026, 7, 28, 9, 32)), 0.9)

    def test_height_between(self):
        self.assertAlmostEqual(self.table.height(datetime(2026, 7, 28, 6, 23)), 3.05)

    def test_window_in_the_afternoon(self):
        day = datetime(2026, 7, 28, 10, 0)
        spans = self.table.windows(day, day + timedelta(hours=11), 3.0)
        self.assertEqual([(a.hour, b.hour) for a, b in spans], [(12, 19)])

    def test_window_that_is_open_at_the_end(self):
        day = datetime(2026, 7, 28, 10, 0)
        spans = self.table.windows(day, day + timedelta(hours=5), 3.0)
        self.assertEqual(spans, [(datetime(2026, 7, 28, 12, 30), datetime(2026, 7, 28, 15, 0))])

    def test_outside_the_table(self):
        with self.assertRaises(LookupError):
            self.table.height(datetime(2026, 7, 27))


if __name__ == "__main__":
    unittest.main()
