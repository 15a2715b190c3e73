"""The command line."""

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program `turnfold`; returns its exit status."""
    # A process that compacts for a batch is of this package, too, and has no use for the commands.
    from turnfold.cli.program import main as program

    return program(arguments)
