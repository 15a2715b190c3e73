"""Invoices, numbered without a gap."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from quayside.tariffs import Tariff


@dataclass(frozen=True)
class Invoice:
    """One invoice. `number` is the year and a counter: 2026-0001."""

    number: str
    boat: str
    berth: str
    nights: int
    net: Decimal
    gross: Decimal


class Ledger:
    """All invoices of a harbour."""

    def __init__(self, tariff=None):
        self._tariff = tariff or Tariff()
        self._invoices = []
        self._last = {}

    def __iter__(self):
        return iter(self._invoices)

    def bill(self, stay, boat, berth):
        """Write the invoice for a stay."""
        days = [stay.arrives + timedelta(days=k) for k in range(stay.nights)]
        net = self._tariff.stay(boat, days, berth.power)
        invoice = Invoice(
            number=self._next(stay.leaves),
            boat=boat.name,
            berth=berth.code,
            nights=stay.nights,
            net=net,
            gross=self._tariff.gross(net),
        )
        self._invoices.append(invoice)
        return invoice

    def total(self, year):
        """Gross sum of a year."""
        return sum((i.gross for i in self._invoices if i.number.startswith(f"{year}-")), Decimal(0))

    def _next(self, day):
        self._last[day.year] = self._last.get(day.year, 0) + 1
        return f"{day.year}-{self._last[day.year]:04}"
