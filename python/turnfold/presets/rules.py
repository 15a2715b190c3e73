"""What receivers hold transcripts to, as options of a scan: one function a receiver.

The table of a wire format says what its own provider demands. Others that speak the format are stricter, or pass on
to somebody who is. Options are data: `msgspec.structs.replace(rules.gemini(), closed=True)` adds to them.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from turnfold.checks import rules
from turnfold.model.scan import RuleSeverity, ScanOptions


def openai() -> ScanOptions:
    """For OpenAI's own endpoints, Chat Completions and Responses: what only compatible servers refuse is off."""
    return ScanOptions(severities=(("OC-7", "off"), ("OC-8", "off"), ("OR-12", "off")))


def openai_compatible() -> ScanOptions:
    """For servers that speak OpenAI's formats but are stricter, such as those that fill a model's chat template.

    User and model take turns, starting with the user; there is one message of instructions, at the start; reasoning
    items are refused.
    """
    severities: tuple[tuple[str, RuleSeverity], ...] = (("OC-7", "error"), ("OC-8", "error"), ("OR-12", "error"))
    return ScanOptions(strict_alternation=True, severities=severities)


def anthropic() -> ScanOptions:
    """For Anthropic's own endpoint: its messages without prefill, which current models refuse."""
    return ScanOptions(severities=(("AM-10", "error"),))


def bedrock() -> ScanOptions:
    """For Amazon Bedrock, by Converse or with a body of Anthropic's: a history of calls needs its tools."""
    return ScanOptions(severities=(("AM-14", "error"),))


def gemini() -> ScanOptions:
    """For Gemini 3 and later, whatever the model is called: the calls of the current turn carry their signatures."""
    return ScanOptions(signatures=True)


def mistral() -> ScanOptions:
    """For Mistral's endpoint in its strictest form: ids of nine letters and digits, a user behind no result."""
    return ScanOptions(severities=(("MC-8", "error"), ("MC-9", "error"), ("MC-10", "error"), ("MC-11", "error")))


def lenient() -> ScanOptions:
    """For stored transcripts that nobody sends as they are: only broken pairs and reasoning stay errors.

    Findings of the category integrity keep their severity, the rest are hints; what is off stays off.
    """
    codes = {rule.code: rule for rule in rules() if rule.category != "integrity" and rule.severity != "off"}
    return ScanOptions(severities=tuple((code, "hint") for code in codes))


BY_NAME: Final[Mapping[str, Callable[[], ScanOptions]]] = MappingProxyType(
    {
        "openai": openai,
        "openai-compatible": openai_compatible,
        "anthropic": anthropic,
        "bedrock": bedrock,
        "gemini": gemini,
        "mistral": mistral,
        "lenient": lenient,
    }
)
"""Each receiver by its name on the command line."""
