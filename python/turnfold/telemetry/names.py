"""The names of spans, attributes and metrics: OpenTelemetry's GenAI conventions where there is one, else our own.

The GenAI conventions are still in development: a name that changes there changes here, and nowhere else.
"""

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
CHAT: Final = "chat"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105
TOKEN_USAGE_METRIC: Final = "gen_ai.client.token.usage"  # noqa: S105
ERROR_TYPE: Final = "error.type"

COMPACTION_METRIC: Final = "turnfold.compactions"
COMPACTION_DURATION_METRIC: Final = "turnfold.compaction.duration"
SAVED_TOKENS_METRIC: Final = "turnfold.compaction.saved_tokens"
OUTCOME: Final = "turnfold.outcome"

COMPACTION_SPAN: Final = "turnfold.compact"
CALL_SPAN: Final = "turnfold.summarize"


def own(name: str) -> str:
    """Return the attribute for a field of an event that no convention names."""
    return f"turnfold.{name}"
