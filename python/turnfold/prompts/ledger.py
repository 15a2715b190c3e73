"""What must survive first: rules, names, failures; then what happened."""

from turnfold.prompts.schema import Section, SummarySchema

SCHEMA = SummarySchema(
    name="ledger",
    sections=(
        Section("Rules", "users", "what the user asked for or forbade, in the user's own words"),
        Section("Ledger", "identifiers", "paths, ids, names, versions and numbers, letter for letter"),
        Section("Failures", "errors", "what failed and how often, with the words of the error"),
        Section("Decisions", "findings", "what was decided and still holds, and why", ("earlier",)),
        Section("Work", "files", "what was read and changed", ("commands", "versions", "tools")),
        Section("Current state", "state", "where the work stands and what comes next"),
    ),
    guidance=(
        "Of values that changed, keep the last.",
        "Say of a failure how often it came.",
    ),
)
