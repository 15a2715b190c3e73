import unittest
from datetime import date

from quayside import report
from quayside.schedule import Schedule, Stay


class ReportTest(unittest.TestCase):
    def test_wide_names_keep_the_columns(self):
        self.assertEqual(report.width("海風"), 4)
        self.assertEqual(report.width("조용한 파도"), 11)
        self.assertEqual(report.width("Ørn"), 3)

    def test_week(self):
        stays = [Stay("Ørn", "B1", date(2026, 7, 27), date(2026, 7, 29))]
        lines = report.week_table(Schedule(stays), ["A1", "B1"], 2026, 31).split("\n")
        self.assertEqual(lines[2].split(), ["B1", "Ørn", "Ørn", ".", ".", ".", ".", "."])


if __name__ == "__main__":
    unittest.main()
