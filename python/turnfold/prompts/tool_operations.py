"""Old tool calls of one stretch of work as one report, in the first person."""

from turnfold.prompts.schema import Section, SummarySchema

SCHEMA = SummarySchema(
    name="tool_operations",
    sections=(
        Section("User Goal", "users", "what the user wants, where the quotation says so"),
        Section("Strategy", "earlier", "how I went about it"),
        Section(
            "Operations",
            "commands",
            "one line a call: the tool, its exact input, what came of it",
            ("files", "tools"),
        ),
        Section("Discoveries", "findings", "what the results showed"),
        Section("Dead Ends", "errors", "what led nowhere, so that I do not try it again"),
        Section("What Worked", "versions", "what I changed or read that the work rests on"),
        Section("Critical Artifacts", "identifiers", "paths, ids and values that I need letter for letter"),
        Section("Status", "state", "COMPLETE, PARTIAL or BLOCKED, and one sentence why"),
    ),
    numbered=True,
    statuses=("COMPLETE", "PARTIAL", "BLOCKED"),
    version=3,
    guidance=("Write in the first person, as the one who made the calls.", "Leave out sections that are empty."),
)
