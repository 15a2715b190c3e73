"""No summary: one line that says that messages went."""

from turnfold.prompts.conversation_summary import SCHEMA as RECAP
from turnfold.prompts.schema import SummarySchema

SCHEMA = SummarySchema(name="static_marker", sections=RECAP.sections, style="marker", marker=RECAP.marker)
