"""One line a tool call, made by rule, under a line that counts them."""

from turnfold.prompts.nine_sections import SCHEMA as NINE
from turnfold.prompts.schema import SummarySchema

SCHEMA = SummarySchema(
    name="tool_digest",
    sections=NINE.sections,
    style="digest",
    guidance=("One line a tool call: its tool, what it worked on, what came of it; errors keep their own words.",),
)
