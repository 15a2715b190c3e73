"""The command line."""

from turnfold.cli.program import main

__all__ = ["main"]
