"""What a command that compacts is told to do."""

from collections.abc import Mapping

import msgspec

from turnfold.cli.inputs import ANY, Wanted
from turnfold.model.plan import CompactionPlan, Skip
from turnfold.model.policy import Policy
from turnfold.model.state import NO_STATE, PlanState

WINDOW_ADVICE = "give --limit-tokens or --window-tokens"


class Instructions(msgspec.Struct, frozen=True):
    """What a run is told. With `plans`, by the fingerprint of their source, it makes none of its own."""

    policy: Policy
    encoding: str | None = None
    model: str | None = None
    wanted: Wanted = ANY
    state: PlanState = NO_STATE
    plans: Mapping[str, CompactionPlan | Skip] | None = None
