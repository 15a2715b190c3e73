"""Whether a summarizer's reply can be used, and what it is called if not."""

import msgspec

from turnfold import meter
from turnfold.model.result import AttemptOutcome
from turnfold.model.summary import SummaryRequest
from turnfold.prompts.schemas import schema_named


class Verdict(msgspec.Struct, frozen=True):
    """How a reply is judged, and the text to use: None where it cannot be used."""

    outcome: AttemptOutcome
    text: str | None


def judge(reply: str, request: SummaryRequest) -> Verdict:
    """Judge a reply: blank, not shorter than its source, without the heading that its schema asks
    for, over the cap (then cut, between words), or fine.

    Linear in the shorter of the reply and the source.
    """
    text = reply.strip()
    if not text:
        return Verdict("empty", None)
    heading = schema_named(request.schema).heading
    if heading is not None and heading not in text:
        return Verdict("no_heading", None)
    if meter.count_up_to(text, max(request.source_tokens - 1, 0), request.encoding) is None:
        return Verdict("longer_than_source", None)
    if meter.count_up_to(text, request.max_tokens, request.encoding) is not None:
        return Verdict("used", text)
    cut = meter.truncate_words(text, request.max_tokens, request.encoding)
    return Verdict("cut_to_cap", cut) if cut else Verdict("empty", None)
