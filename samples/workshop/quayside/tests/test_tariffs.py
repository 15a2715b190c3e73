import unittest
from datetime import date, timedelta
from decimal import Decimal

from quayside.berths import Boat
from quayside.tariffs import Tariff, to_cents

BOAT = Boat("Nordlicht", 9.4, 3.1, 1.6)


def nights(count, first=date(2026, 7, 1)):
    return [first + timedelta(days=k) for k in range(count)]


class TariffTest(unittest.TestCase):
    def test_low_season(self):
        self.assertEqual(Tariff().stay(BOAT, nights(2, date(2026, 5, 3))), Decimal("40.42"))

    def test_high_season_costs_a_quarter_more(self):
        self.assertEqual(Tariff().stay(BOAT, nights(2)), Decimal("50.53"))

    def test_half_cents_go_up(self):
        self.assertEqual(to_cents(Decimal("0.125")), Decimal("0.13"))
        self.assertEqual(to_cents(Decimal("2.665")), Decimal("2.67"))

    def test_seven_nights_are_a_week(self):
        six, seven = Tariff().stay(BOAT, nights(6)), Tariff().stay(BOAT, nights(7))
        self.assertLess(seven / 7, six / 6)


if __name__ == "__main__":
    unittest.main()
