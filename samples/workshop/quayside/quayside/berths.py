"""Berths and the boats that fit them."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Boat:
    """A boat as the harbour office knows it."""

    name: str
    length_metres: float
    beam_metres: float
    draught_metres: float
    home_port: str = ""


@dataclass(frozen=True)
class Berth:
    """A place to lie. `dries_metres` is the height over chart datum at which the bottom falls dry; below zero it never does."""

    code: str
    length_metres: float
    beam_metres: float
    dries_metres: float
    power: bool = False


@dataclass
class Harbour:
    """All berths, by code."""

    name: str
    berths: dict = field(default_factory=dict)

    def add(self, berth):
        if berth.code in self.berths:
            raise ValueError(f"berth {berth.code} exists")
        self.berths[berth.code] = berth

    def fitting(self, boat, clearance_metres=0.5):
        """Berths long and wide enough for the boat, smallest first."""
        fits = [
            b
            for b in self.berths.values()
            if b.length_metres >= boat.length_metres and b.beam_metres >= boat.beam_metres + clearance_metres
        ]
        return sorted(fits, key=lambda b: (b.length_metres, b.code))


def depth_needed(boat, berth, under_keel_metres=0.3):
    """Tide height in metres that the boat needs to float on the berth."""
    return berth.dries_metres + boat.draught_metres + under_keel_metres
