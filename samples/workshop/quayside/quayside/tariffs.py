"""What a stay costs."""

from dataclasses import dataclass
from decimal import Decimal, ROUND_HALF_EVEN

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Tariff:
    """Prices in euro. High season is June to August."""

    per_metre_night: Decimal = Decimal("2.15")
    high_season_factor: Decimal = Decimal("1.25")
    power_night: Decimal = Decimal("4.50")
    weekly_discount: Decimal = Decimal("0.10")
    vat: Decimal = Decimal("0.19")

    def night(self, boat, day, power=False):
        """Net price of one night."""
        price = self.per_metre_night * Decimal(str(boat.length_metres))
        if day.month in (6, 7, 8):
            price *= self.high_season_factor
        if power:
            price += self.power_night
        return price

    def stay(self, boat, days, power=False):
        """Net price of some nights; from seven on, a discount on all of them."""
        net = sum((self.night(boat, day, power) for day in days), Decimal(0))
        if len(days) > 7:
            net *= 1 - self.weekly_discount
        return to_cents(net)

    def gross(self, net):
        """Price with value added tax."""
        return to_cents(net * (1 + self.vat))


def to_cents(amount):
    """An amount in whole cents, halves away from zero, as the invoice law wants it."""
    return amount.quantize(CENT, rounding=ROUND_HALF_EVEN)
