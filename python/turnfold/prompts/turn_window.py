"""Key lines for a rolling summary of an agent's turns."""

from turnfold.prompts.schema import Section, SummarySchema

SCHEMA = SummarySchema(
    name="turn_window",
    sections=(
        Section("USER_CONTEXT", "users", "what the user wants, with every condition, in the user's own words"),
        Section("COMPLETED", "findings", "tasks that are done, each with its result", ("earlier",)),
        Section("PENDING", "errors", "tasks that are open, and what failed on the way to them"),
        Section("CURRENT_STATE", "state", "values, variables and data that the next step needs"),
        Section("CODE_STATE", "files", "for code: paths, signatures, data structures"),
        Section("TESTS", "commands", "for code: which tests fail, with their messages, and which pass"),
        Section("CHANGES", "tools", "for code: edits made, one line each"),
        Section("DEPS", "identifiers", "for code: packages, versions, and names that must survive letter for letter"),
        Section("VERSION_CONTROL_STATUS", "versions", "for code: branch, commits, and whether they are pushed"),
    ),
    words=180,
    version=2,
    guidance=(
        "Keep what the previous summary says and still holds; take out what is done with.",
        "Leave out keys that have nothing to say.",
    ),
)
