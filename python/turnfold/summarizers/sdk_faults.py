"""What the official SDKs raise, as faults of a call. The openai and anthropic packages have one shape of errors."""

import re
from types import ModuleType
from typing import Final

from turnfold.errors import CallFault, SummarizerError
from turnfold.summarizers.faults import without_secrets
from turnfold.summarizers.retry_after import retry_after_seconds

_TOO_LONG_CODES: Final = {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
# What servers say that give no code for it: Anthropic, vLLM, SGLang, llama.cpp before it had one.
_TOO_LONG = re.compile(
    r"prompt is too long|maximum context length|context (?:window|size)|longer than the model", re.IGNORECASE
)
_OUT_OF_MONEY: Final = {"insufficient_quota", "billing_hard_limit_reached", "billing_error"}


def fault_from(sdk: ModuleType, error: Exception, *secrets: str) -> SummarizerError:
    """Return `error` as a fault: named, with its status and the wait that the server asks for, without `secrets`.

    A 429 that is about money does not pass by waiting: it is `rejected`.
    """
    if isinstance(error, SummarizerError):
        return error
    text = without_secrets(f"{type(error).__name__}: {error}", *secrets)
    if isinstance(error, sdk.APITimeoutError):
        return SummarizerError(text, "timeout")
    if isinstance(error, sdk.APIStatusError):
        status = int(error.status_code)
        return SummarizerError(
            text,
            _of_status(error, status),
            status=status,
            retry_after_seconds=retry_after_seconds(error.response.headers),
        )
    if isinstance(error, sdk.APIConnectionError):
        return SummarizerError(_with_cause(text, error, *secrets), "unreachable")
    # Bytes that are no JSON, or JSON of another shape.
    if isinstance(error, sdk.APIResponseValidationError | ValueError | TypeError | AttributeError | KeyError):
        return SummarizerError(text, "garbled")
    return SummarizerError(text)


def _of_status(error: Exception, status: int) -> CallFault:
    codes = _codes(error)
    if status == 413 or codes & _TOO_LONG_CODES or (status == 400 and _TOO_LONG.search(str(error))):
        return "too_long"
    if status == 429:
        return "rejected" if codes & _OUT_OF_MONEY else "rate_limited"
    if status >= 500 or status in {408, 409, 425}:
        return "unavailable"
    return "rejected"


def _codes(error: Exception) -> set[object]:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    found = [getattr(error, "code", None), getattr(error, "type", None)]
    if isinstance(inner, dict):
        found += [inner.get("code"), inner.get("type")]
    return {code for code in found if isinstance(code, str)}


def _with_cause(text: str, error: Exception, *secrets: str) -> str:
    cause = error.__cause__
    return text if cause is None else without_secrets(f"{text} ({type(cause).__name__}: {cause})", *secrets)
