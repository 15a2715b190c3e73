"""Old tool calls of one stretch of work as one report, in the first person."""

from turnfold.prompts.schema import Section, SummarySchema

SCHEMA = SummarySchema(
    name="tool_operations",
    sections=(
        Section("Strategy", "users", "how I went about the user's goal"),
        Section(
            "Operations",
            "commands",
            "one line a call: the tool, its exact input, what came of it",
            ("versions", "tools"),
        ),
        Section("Discoveries", "findings", "what the results showed", ("earlier",)),
        Section("Dead Ends", "errors", "what led nowhere, so that I do not try it again"),
        Section("What Worked", "files", "what I changed or read that the work rests on"),
        Section("Critical Artifacts", "identifiers", "paths, ids and values that I need letter for letter"),
        Section("Status", "state", "COMPLETE, PARTIAL or BLOCKED, and one sentence why"),
    ),
    guidance=("Write in the first person, as the one who made the calls.", "Leave out sections that are empty."),
)
