"""Whether a summarizer's reply can be used, and what it is called if not."""

from typing import Literal

import msgspec

from turnfold import meter
from turnfold.model.judgement import DEFAULT_REPLY_POLICY, Remedy, ReplyFault, ReplyPolicy
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.prompts.schemas import schema_named


class Verdict(msgspec.Struct, frozen=True):
    """How a reply is judged, and the text to use: None where it cannot be used, and then `remedy` says who is next.

    `outcome` is the fault for which it is refused; `fault` the same, or None for a reply that is used.
    """

    outcome: Literal["used", "cut_to_cap", "repaired"] | ReplyFault
    text: str | None
    fault: ReplyFault | None = None
    remedy: Remedy | None = None
    detail: str = ""


def judge(reply: SummaryReply, request: SummaryRequest, policy: ReplyPolicy = DEFAULT_REPLY_POLICY) -> Verdict:
    """Judge a reply: blank, not shorter than its source, without the heading that its schema asks
    for, over the cap (then cut, between words), or fine.

    Linear in the shorter of the reply and the source.
    """
    text = reply.text.strip()
    if not text:
        return _refused("empty", policy)
    heading = schema_named(request.schema).heading
    if heading is not None and heading not in text:
        return _refused("no_heading", policy)
    if meter.count_up_to(text, max(request.source_tokens - 1, 0), request.encoding) is None:
        return _refused("longer_than_source", policy)
    if meter.count_up_to(text, request.max_tokens, request.encoding) is not None:
        return Verdict("used", text)
    cut = meter.truncate_words(text, request.max_tokens, request.encoding)
    return Verdict("cut_to_cap", cut) if cut else _refused("empty", policy)


def _refused(fault: ReplyFault, policy: ReplyPolicy) -> Verdict:
    return Verdict(fault, None, fault, policy.remedy(fault))
