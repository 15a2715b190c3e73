"""Commands that were run: the command, its exit code, how much it said, and the line that says what went wrong."""

from turnfold.model.facts import Extracted, Fact, ToolCall


def extract(call: ToolCall) -> Extracted:
    """Say how a command ended."""
    facts: list[Fact] = [("Command", call.target or "")]
    metadata: dict[str, int | str] = {"command": call.target or ""}
    if call.exit_code is not None:
        facts.append(("Exit", str(call.exit_code)))
        metadata["exit_code"] = call.exit_code
    if call.result is not None:
        lines = len(call.result.splitlines())
        facts.append(("Output", f"{lines} {'line' if lines == 1 else 'lines'}"))
        metadata["lines"] = lines
    return Extracted(tuple(facts), metadata)
