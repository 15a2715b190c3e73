"""Whether a summarizer's reply can be used, and what it is called if not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from turnfold import meter
from turnfold.model.judgement import DEFAULT_REPLY_POLICY, Remedy, ReplyFault, ReplyPolicy
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.prompts.measures import (
    Source,
    carries_on,
    copied_share,
    has_headings,
    new_identifiers,
    shares_nothing,
    shows_nothing,
)
from turnfold.prompts.mend import made_plain, poses, to_last_whole, with_names, without_thinking
from turnfold.prompts.refusals import refuses
from turnfold.prompts.schema import SummarySchema
from turnfold.prompts.schemas import schema_named


class Verdict(msgspec.Struct, frozen=True):
    """How a reply is judged, and the text to use: None where it cannot be used, and then `remedy` says who is next.

    `fault` is what a reply is refused for. `detail` says what was measured or mended, in numbers: none of it is text of
    the conversation.
    """

    outcome: Literal["used", "cut_to_cap", "repaired"] | ReplyFault
    text: str | None
    fault: ReplyFault | None = None
    remedy: Remedy | None = None
    detail: str = ""


@dataclass(slots=True)
class _Judging:
    """A reply under judgement. Checks say what they found; the text changes as faults are mended."""

    text: str
    reply: SummaryReply
    request: SummaryRequest
    schema: SummarySchema
    policy: ReplyPolicy
    source: Source


class _Found(msgspec.Struct, frozen=True):
    fault: ReplyFault
    mended: str | None = None
    detail: str = ""


def judge(reply: SummaryReply, request: SummaryRequest, policy: ReplyPolicy = DEFAULT_REPLY_POLICY) -> Verdict:
    """Judge a reply by `policy`: refused for its first fault that is neither mended nor let pass, or a text to use.

    The text is cut to the request's cap, between words, where it counts more. What a reply holds of reasoning in tags,
    and a code fence around all of it, is taken off before. Linear in the reply and in the source.
    """
    text, thought = without_thinking(reply.text)
    fault = _without_text(reply, text, reasoned=reply.reasoned or thought)
    if fault is not None:
        return _refused(_Found(fault), policy)
    case = _Judging(text, reply, request, schema_named(request.schema), policy, Source(request))
    details: list[str] = []
    for fault, check in _CHECKS.items():
        # What is let pass is not measured: some of it takes longer than writing a summary by rule.
        remedy = policy.remedy(fault)
        found = None if remedy == "use" else check(case)
        if found is None:
            continue
        if remedy != "repair" or found.mended is None:
            return _refused(found, policy)
        case.text = found.mended
        details.append(f"{found.fault}: {found.detail}" if found.detail else found.fault)
    cut = meter.count_up_to(case.text, request.max_tokens, request.encoding) is None
    if cut:
        case.text = meter.truncate_words(case.text, request.max_tokens, request.encoding)
        if not case.text:
            return _refused(_Found("empty", detail="nothing of it fits the cap"), policy)
    lost = None if policy.lost_identifiers == "use" else _lost_names(case)
    if lost is not None:
        if policy.lost_identifiers != "repair":
            return _refused(lost, policy)
        if lost.mended is not None:
            case.text = lost.mended
            details.append(f"{lost.fault}: {lost.detail}")
    return Verdict("repaired" if details else "cut_to_cap" if cut else "used", case.text, detail="; ".join(details))


def _refused(found: _Found, policy: ReplyPolicy) -> Verdict:
    return Verdict(found.fault, None, found.fault, policy.remedy(found.fault), found.detail)


def _without_text(reply: SummaryReply, text: str, *, reasoned: bool) -> ReplyFault | None:
    if reply.stop == "refusal":
        return "refusal"
    if reply.tool_calls or reply.stop == "tool_call":
        return "tool_call"
    if not shows_nothing(text):
        return None
    return "reasoning_only" if reasoned else "empty"


def _refusal(case: _Judging) -> _Found | None:
    """A refusal in words names nothing of what it was asked to sum up."""
    if not refuses(case.text) or has_headings(case.text, case.schema):
        return None
    return None if any(meter.occurring(case.request.identifiers, case.text)) else _Found("refusal", detail="in words")


def _cut_off(case: _Judging) -> _Found | None:
    return _Found("cut_off", to_last_whole(case.text)) if case.reply.stop == "length" else None


def _no_heading(case: _Judging) -> _Found | None:
    heading = case.schema.heading
    if heading is None or heading in case.text:
        return None
    return _Found("no_heading", f"{heading}\n{case.text}")


def _longer_than_source(case: _Judging) -> _Found | None:
    most = max(case.request.source_tokens - 1, 0)
    return (
        None if meter.count_up_to(case.text, most, case.request.encoding) is not None else _Found("longer_than_source")
    )


def _echoes_input(case: _Judging) -> _Found | None:
    share = copied_share(case.text, case.source)
    if share <= case.policy.most_copied_share:
        return None
    return _Found("echoes_input", detail=f"{share:.0%} of it stands in the source as it is")


def _answers_conversation(case: _Judging) -> _Found | None:
    return _Found("answers_conversation") if carries_on(case.text, case.source, case.schema) else None


def _unrelated(case: _Judging) -> _Found | None:
    return _Found("unrelated") if shares_nothing(case.text, case.source) else None


def _injection(case: _Judging) -> _Found | None:
    return _Found("injection", made_plain(case.text)) if poses(case.text) else None


def _new_names(case: _Judging) -> _Found | None:
    new = len(new_identifiers(case.text, case.source))
    if new <= case.policy.most_new_identifiers:
        return None
    return _Found("new_identifiers", detail=f"{new} identifiers stand nowhere in the source")


def _lost_names(case: _Judging) -> _Found | None:
    """Too few of the source's identifiers are in the summary, or beside it in what it quotes of the user."""
    request = case.request
    names = request.identifiers
    if not names:
        return None
    said = "\n".join(filter(None, (case.text, request.task, request.latest)))
    lost = [name for name, kept in zip(names, meter.occurring(names, said), strict=True) if not kept]
    kept = len(names) - len(lost)
    if kept >= case.policy.least_kept_share * len(names):
        return None
    text, added = with_names(case.text, case.source.by_worth(lost), request, case.schema)
    return _Found("lost_identifiers", text if added else None, f"{kept} of {len(names)} were kept, {added} added")


_CHECKS: Final[Mapping[ReplyFault, Callable[[_Judging], _Found | None]]] = MappingProxyType(
    {
        "refusal": _refusal,
        "cut_off": _cut_off,
        "no_heading": _no_heading,
        "longer_than_source": _longer_than_source,
        "echoes_input": _echoes_input,
        "answers_conversation": _answers_conversation,
        "unrelated": _unrelated,
        "injection": _injection,
        "new_identifiers": _new_names,
    }
)
