"""Nine sections: what a summary holds where nothing else is asked for."""

from turnfold.prompts.schema import Section, SummarySchema

SCHEMA = SummarySchema(
    name="nine_sections",
    sections=(
        Section("User messages", "users", "what the user asked or said, in the user's own words"),
        Section("Findings", "findings", "what was found out and decided, and why"),
        Section("Files", "files", "files read, written or changed, with their paths"),
        Section("Commands", "commands", "commands run and searches made, and how they ended", ("versions",)),
        Section("Errors", "errors", "what failed, with the words of the error"),
        Section("Tools", "tools", "what other tools were asked and answered"),
        Section("Earlier", "earlier", "what an earlier summary says that stands nowhere else"),
        Section("Current state", "state", "where the work stands and what comes next"),
        Section("Identifiers", "identifiers", "paths, ids, names and numbers that must survive letter for letter"),
    ),
)
