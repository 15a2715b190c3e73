"""What an agent did, for an agent that goes on with it."""

from turnfold.prompts.schema import Section, SummarySchema

SCHEMA = SummarySchema(
    name="technical_memory",
    sections=(
        Section("Milestones", "commands", "what was reached, in order", ("versions", "tools")),
        Section("Key Decisions", "users", "what was decided, each with its reason"),
        Section("Findings", "findings", "what was learned of the code, the data or the system", ("files", "earlier")),
        Section("Attempted and Abandoned", "errors", "what was tried and given up, and why it did not work"),
        Section("Current State", "state", "what is true now: files, branches, running things"),
        Section("Open Items", "identifiers", "what is left to do, with the names that it takes"),
    ),
    guidance=(
        "Write for a model that reads this in the place of the work itself: dense, without courtesies.",
        "Keep paths, line numbers, commands, versions, error words, numbers with units and what the user forbade.",
        "Leave out greetings, plans that were carried out, text of files, and whatever can be read again from disk.",
    ),
)
