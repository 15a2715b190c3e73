"""The providers' own SDKs as judges: whether their types accept the messages of a transcript.

The types are the generated parameter types of `openai` and `anthropic` and the models of `google-genai`, read by
pydantic. Kinds that an SDK does not know are refused; so are fields of a wrong type. Fields beyond the types pass,
except Google's.
"""

from collections.abc import Callable
from functools import cache

import pydantic

import turnfold

Judge = Callable[[object], object]


@cache
def judge(wire_format: str) -> Judge | None:
    """Return what validates a list of messages of the format; None where no SDK here has types for it."""
    adapter: pydantic.TypeAdapter[object]
    match wire_format:
        case "openai.chat":
            from openai.types.chat import ChatCompletionMessageParam

            adapter = pydantic.TypeAdapter(list[ChatCompletionMessageParam])
        case "openai.responses":
            from openai.types.responses import ResponseInputParam

            adapter = pydantic.TypeAdapter(ResponseInputParam)
        case "anthropic.messages":
            from anthropic.types.beta import BetaMessageParam

            adapter = pydantic.TypeAdapter(list[BetaMessageParam])
        case "gemini.contents":
            from google.genai.types import Content

            adapter = pydantic.TypeAdapter(list[Content])
        case _:
            return None
    return adapter.validate_python


def refusal(transcript: turnfold.Transcript) -> str | None:
    """Say why the SDK's types refuse the transcript's messages; None where they take them, or there are no types."""
    validate = judge(transcript.format)
    if validate is None:
        return None
    try:
        _walk(validate(list(transcript.messages)))
    except pydantic.ValidationError as error:
        return str(error)
    return None


def _walk(value: object) -> None:
    """Go through a validated value: what is typed as an iterable is validated only while it is read."""
    if isinstance(value, dict):
        for inner in value.values():
            _walk(inner)
    elif isinstance(value, list | tuple) or type(value).__name__ == "ValidatorIterator":
        for inner in value:  # type: ignore[attr-defined]
            _walk(inner)
