"""What a scan and a search for split points are told."""

from typing import Final, Literal

import msgspec

RuleSeverity = Literal["error", "warning", "hint", "off"]
"""How bad breaking a rule is; `off` switches it off."""


class ScanOptions(msgspec.Struct, frozen=True):
    """What the caller knows beyond the body.

    `pending_ids` are calls that still run: their results will come, so they are neither findings nor cut off.
    `thinking` says whether the model's thinking is on; None takes what the body says. `strict_alternation` demands
    that user and assistant take turns, for servers that refuse two messages of one role in a row.
    `closed` says that nothing follows, as for the head of a cut: no call is pending then.
    `signatures` says whether the model checks that the calls of the current turn carry their thought signatures; None
    goes by the model's name. `reasoning_pairs` names, by the server's item ids, items and the reasoning that each was
    produced with. `window_tokens` is the model's window, where the caller wants the request held against it.
    `severities` replaces how bad a broken rule is, by finding code or provider rule id; of two the later wins.
    """

    pending_ids: tuple[str, ...] = ()
    thinking: bool | None = None
    strict_alternation: bool = False
    closed: bool = False
    signatures: bool | None = None
    reasoning_pairs: tuple[tuple[str, str], ...] = ()
    window_tokens: int | None = None
    severities: tuple[tuple[str, RuleSeverity], ...] = ()


BODY_ONLY: Final = ScanOptions()
"""Nothing is known beyond the body."""
