"""Berths, tides and fees of a small harbour."""

__version__ = "0.4.1"
