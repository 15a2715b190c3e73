"""Any other tool: what it was asked, and how its answer begins."""

from typing import Final

from turnfold.model.facts import Extracted, Fact, ToolCall

SHOWN_ARGUMENTS: Final = 2


def extract(call: ToolCall) -> Extracted:
    """Show the first arguments that are short, and the first line of the result."""
    shown = [(name, str(value)) for name, value in call.arguments.items() if isinstance(value, str | int | float)]
    facts: list[Fact] = [(name, value) for name, value in shown if value][:SHOWN_ARGUMENTS]
    if not facts and call.freeform:
        facts.append(("Input", call.freeform))
    if call.result is not None and not call.failed:
        first = next((line.strip() for line in call.result.splitlines() if line.strip()), "")
        facts.append(("Result", first or "empty"))
    return Extracted(tuple(facts))
