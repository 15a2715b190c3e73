"""How a summarizer's reply is judged: every fault by name, and what is done about it."""

from typing import Final, Literal

import msgspec

from turnfold.errors import ArgumentError

ReplyFault = Literal[
    "empty",
    "reasoning_only",
    "tool_call",
    "refusal",
    "cut_off",
    "no_heading",
    "longer_than_source",
    "echoes_input",
    "answers_conversation",
    "unrelated",
    "injection",
    "lost_identifiers",
    "new_identifiers",
]
"""What can be wrong with a reply that came.

`empty`: nothing that can be seen; `reasoning_only`: reasoning, and no text; `tool_call`: it asks for a tool instead of
writing; `refusal`: the provider says that the model or a filter refuses, or a short text does; `cut_off`: the output
limit cut it; `no_heading`: without the heading that its schema asks for; `longer_than_source`: not shorter than what it
replaces; `echoes_input`: long stretches of it stand in the source; `answers_conversation`: it carries the conversation
on; `unrelated`: not one word of it stands in the source; `injection`: it holds control tokens of chat templates,
turnfold's delimiters, or lines that pose as another role; `lost_identifiers`: too few of the source's identifiers are
in it; `new_identifiers`: it has identifiers that stand nowhere in the source.
"""

Remedy = Literal["retry", "repair", "next", "use"]
"""What is done about a faulty reply: ask the same summarizer again while it has tries left, then the next one; mend the
text, and ask the next one where that cannot be done; ask the next one at once; use it as it is."""

_WITHOUT_TEXT: Final = ("empty", "reasoning_only", "tool_call", "refusal")
_MENDABLE: Final = ("cut_off", "no_heading", "injection", "lost_identifiers")


class ReplyPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What is done about each fault of a reply, and the measures behind those that are a matter of degree.

    Repair cuts a `cut_off` reply after its last whole line or sentence, puts a missing heading in front, makes
    `injection` plain, and appends `lost_identifiers` as far as the cap allows.

    `least_kept_share` is the share of the source's identifiers below which some are lost; `most_new_identifiers` how
    many may stand nowhere in the source; `most_copied_share` the share of the reply that may consist of stretches of
    the source.

    Raises `ArgumentError` for a remedy that cannot be had: nothing can be repaired or used where there is no text.
    """

    empty: Remedy = "retry"
    reasoning_only: Remedy = "retry"
    tool_call: Remedy = "retry"
    refusal: Remedy = "next"
    cut_off: Remedy = "repair"
    no_heading: Remedy = "retry"
    longer_than_source: Remedy = "retry"
    echoes_input: Remedy = "retry"
    answers_conversation: Remedy = "retry"
    unrelated: Remedy = "retry"
    injection: Remedy = "repair"
    lost_identifiers: Remedy = "repair"
    new_identifiers: Remedy = "use"
    least_kept_share: float = 0.8
    most_new_identifiers: int = 0
    most_copied_share: float = 0.7

    def __post_init__(self) -> None:
        for fault in _WITHOUT_TEXT:
            if self.remedy(fault) in {"repair", "use"}:
                raise ArgumentError(f"{fault}: there is no text that could be repaired or used; say 'retry' or 'next'")
        if self.longer_than_source == "use":
            raise ArgumentError("longer_than_source: a compaction never grows; say 'retry' or 'next'")
        for name in self.__struct_fields__:
            if getattr(self, name) == "repair" and name not in _MENDABLE:
                raise ArgumentError(f"{name} cannot be repaired: say 'retry', 'next' or 'use'")
        for name in ("least_kept_share", "most_copied_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ArgumentError(f"{name} must be a share, 0 to 1, got {getattr(self, name)}")
        if self.most_new_identifiers < 0:
            raise ArgumentError(f"most_new_identifiers must be at least 0, got {self.most_new_identifiers}")

    def remedy(self, fault: ReplyFault) -> Remedy:
        """What is done about `fault`."""
        remedy: Remedy = getattr(self, fault)
        return remedy


DEFAULT_REPLY_POLICY: Final = ReplyPolicy()

BY_RULE: Final = ReplyPolicy(
    cut_off="use",
    echoes_input="use",
    answers_conversation="use",
    unrelated="use",
    injection="use",
    lost_identifiers="use",
    new_identifiers="use",
)
"""For text that is made by rule out of the source: it quotes on purpose, and says as much as its cap allows."""
