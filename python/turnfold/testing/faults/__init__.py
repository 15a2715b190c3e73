"""Compactions, sessions and stores that are broken on purpose, by seed."""

from turnfold.testing.faults.held import Broken
from turnfold.testing.faults.program import SeedOutcome, main, run_seed, run_seeds

__all__ = ["Broken", "SeedOutcome", "main", "run_seed", "run_seeds"]
