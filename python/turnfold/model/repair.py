"""How a transcript is repaired, and what was done."""

from typing import Final, Literal

import msgspec

from turnfold.model.scan import BODY_ONLY, ScanOptions

RepairAction = Literal["drop", "move", "synthesize", "rename", "fill"]
"""What was done.

Something went (`drop`), stands elsewhere (`move`), was made up (`synthesize`), has another id or name (`rename`), or is
there now because it must be (`fill`): a text in place of what is gone, a list, a string around a value.
"""

Unanswered = Literal["drop", "synthesize"]
"""What becomes of a call that nobody answered and nobody waits for."""


class RepairOptions(msgspec.Struct, frozen=True):
    """How to repair.

    `scan` is what the scan is told whose findings are to be mended: calls that are awaited stay as they are, and rules
    that are switched off are not enforced. `unanswered` says what becomes of an abandoned call: `synthesize` gives it a
    result that says that none was recorded, `drop` takes it out, unless that would take a signature or needed reasoning
    from calls that stay.
    """

    scan: ScanOptions = BODY_ONLY
    unanswered: Unanswered = "synthesize"


DEFAULT_REPAIR: Final = RepairOptions()
"""Nothing is known beyond the body, and abandoned calls get a result."""


class Repair(msgspec.Struct, frozen=True):
    """One thing that was done.

    `code` is that of the finding that it mends. `message` and `block` are indexes in the input (for a result that was
    made up, those of its call), `message_after` is the index in the output of the message that holds it afterwards,
    None where it is gone. `call_id` is the id in the input. `text` says in one sentence what was done.
    """

    code: str
    action: RepairAction
    message: int
    message_after: int | None
    block: int | None
    call_id: str | None
    text: str
