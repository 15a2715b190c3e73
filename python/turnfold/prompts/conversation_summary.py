"""A short recap of the turns that were evicted from the middle of a conversation."""

from turnfold.prompts.schema import Section, SummarySchema

SCHEMA = SummarySchema(
    name="conversation_summary",
    heading="## Conversation Summary",
    sections=(
        Section("Decisions", "findings", "what was decided, and why", ("commands", "versions", "tools")),
        Section("Entities", "identifiers", "people, files, ids and names, letter for letter", ("files",)),
        Section("Facts", "users", "what was said or found that must not be asked again", ("earlier", "errors")),
        Section("Open Items", "state", "questions and tasks that are not settled"),
    ),
    words=200,
    guidance=("A recap that is there already is taken in: there is one recap, never two.",),
    marker="[Earlier messages truncated]",
)
