"""Repairs of a reply: what can be done for a text without asking for another."""

import re
from collections.abc import Sequence
from typing import Final

from turnfold import meter
from turnfold.model.summary import SummaryRequest
from turnfold.prompts.render import heading_text
from turnfold.prompts.schema import SummarySchema
from turnfold.quoting import neutralise

_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_WHOLE_FENCE = re.compile(r"\A(```|~~~)(?:markdown|md|text|txt)?\n((?:(?!^\1).)*)\n\1\s*\Z", re.DOTALL | re.MULTILINE)

# Control tokens of chat templates: ChatML, harmony and Llama, DeepSeek, Gemma, Mistral; and turnfold's delimiters.
_CONTROL = re.compile(
    "<(?=[|\uff5c][\\w\u2581 -]{1,40}[|\uff5c]>|(?:start|end)_of_turn>|/?s>|</?SYS>>|/?turnfold-)|\\[(?=/?INST\\])",
    re.IGNORECASE,
)
_ROLE_LINE = re.compile("^(?=[ \\t]*(?:system|developer)[ \\t]*[:\uff1a])", re.IGNORECASE | re.MULTILINE)
_SENTENCE_END = re.compile("[.!?\u3002\uff01\uff1f\u0964\u061f](?=\\s|\\Z|[^\\x00-\\x7f])")
_LEAST_LEFT: Final = 0.5


def without_thinking(text: str) -> tuple[str, bool]:
    """Take off reasoning that a server left in the text, and say whether there was any. A fence around all
    goes too, if it is none of code.
    """
    rest = _THINKING.sub("", text, count=1)
    stripped = rest.strip()
    fenced = _WHOLE_FENCE.match(stripped)
    return (fenced[2].strip() if fenced else stripped), rest is not text and rest != text


def to_last_whole(text: str) -> str | None:
    """Cut a text that broke off after its last whole line, or sentence; None where less than half would be left."""
    sentences = [found.end() for found in _SENTENCE_END.finditer(text)]
    end = max(text.rfind("\n"), sentences[-1] if sentences else -1)
    return text[:end].rstrip() if end >= len(text) * _LEAST_LEFT else None


def poses(text: str) -> bool:
    """Whether `text` holds control tokens of a chat template, turnfold's delimiters, or lines in the system's name."""
    return _CONTROL.search(text) is not None or _ROLE_LINE.search(text) is not None


def made_plain(text: str) -> str:
    """Return `text` with all of that made plain: `<|im_start|>` is `&lt;|im_start|>`, `SYSTEM:` is `> SYSTEM:`."""
    plain = _CONTROL.sub(lambda found: "&lt;" if found[0] == "<" else "(", neutralise(text))
    return _ROLE_LINE.sub("> ", plain)


def with_names(text: str, names: Sequence[str], request: SummaryRequest, schema: SummarySchema) -> tuple[str, int]:
    """Append as many of `names` as the request's cap allows; return the text and how many were appended."""
    title = schema.section_of("identifiers").title
    # Under its own heading, which is there already where it is the last one.
    last = text.rfind("\n## ")
    start = "\n- " if text[last + 1 :].startswith(heading_text(title)) else f"\n\n{heading_text(title)}- "
    room = request.max_tokens - meter.count(f"{text}{start}", request.encoding)
    plain = [neutralise(" ".join(name.split())) for name in names]
    costs = meter.count_many([f", {name}" for name in plain], request.encoding)
    chosen: list[str] = []
    for name, tokens in zip(plain, costs, strict=True):
        if tokens <= room:
            room -= tokens
            chosen.append(name)
    while chosen:
        longer = f"{text}{start}{', '.join(chosen)}"
        # Joined, pieces may count more than apart.
        if meter.count_up_to(longer, request.max_tokens, request.encoding) is not None:
            return longer, len(chosen)
        chosen.pop()
    return text, 0
