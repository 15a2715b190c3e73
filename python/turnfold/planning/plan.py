"""Trigger, then select, then steps: from a transcript and a policy to a plan, or a reason why there is none."""

import msgspec

from turnfold.checks import compare_prefix
from turnfold.model.counts import TokenCount
from turnfold.model.findings import Finding
from turnfold.model.plan import CompactionPlan, KeepRange, Skip, SkipReason, Tile
from turnfold.model.policy import AskProvider, Policy
from turnfold.model.prefix import PrefixReport
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.model.state import NO_STATE, PlanState
from turnfold.planning.draft import Draft
from turnfold.planning.ground import Ground
from turnfold.planning.measure import Measure
from turnfold.planning.provider import ask_provider
from turnfold.planning.steps import run_step
from turnfold.planning.thinking import settle_thinking
from turnfold.planning.triggers import Facts, anchored, decide
from turnfold.transcript import Transcript, kernel_of


def plan(
    transcript: Transcript,
    policy: Policy,
    *,
    encoding: str | None = None,
    model: str | None = None,
    window_tokens: int | None = None,
    options: ScanOptions = BODY_ONLY,
    state: PlanState = NO_STATE,
) -> CompactionPlan | Skip:
    """Decide what a compaction would do, and prove that it fits the target, before anyone is asked for a summary.

    `model` and `encoding` override what the body says, `window_tokens` what the policy says of the model's window.
    `state` is what the session knows beside the request: usage that the provider reported, that it refused the request
    for its length, that somebody asked for a compaction.
    Pure and deterministic; O(messages) after the transcript's first count. Raises `UnknownWindowError` where the
    policy is a share of a window that nobody named, and an `ArgumentError` for an unknown encoding.
    """
    kernel_of(transcript)
    if not isinstance(policy, Policy):
        raise TypeError(f"a Policy is needed, not {type(policy).__name__}: turnfold.presets make them")
    measure = Measure(transcript, encoding, model, policy.fit)
    ground = Ground(transcript, options)
    return plan_on(ground, measure, policy, encoding=encoding, model=model, window_tokens=window_tokens, state=state)


def plan_on(
    ground: Ground,
    measure: Measure,
    policy: Policy,
    *,
    encoding: str | None,
    model: str | None,
    window_tokens: int | None,
    state: PlanState,
) -> CompactionPlan | Skip:
    """Do the same on a ground and by a measure that others go on with."""
    transcript, options, before = ground.transcript, ground.options, measure.whole
    count = anchored(before, state, len(transcript), lambda start: measure.span(start, len(transcript)))
    facts = Facts(
        count=count,
        ground=lambda: ground,
        model=model or transcript.model,
        window_tokens=window_tokens,
        state=state,
    )
    # Where it is a step, it is the only one.
    asked = policy.steps[0] if policy.steps and isinstance(policy.steps[0], AskProvider) else None
    if asked is not None and asked.standing:
        facts = msgspec.structs.replace(facts, state=NO_STATE)
    decision = decide(policy.trigger, facts)
    if asked is not None and (decision.fired or asked.standing):
        return ask_provider(ground, asked, limit_tokens=decision.limit_tokens, before=before, options=options)
    if not decision.fired:
        return Skip("under_trigger", decision.text, before)
    if transcript.remote:
        return Skip(
            "server_history",
            "The request continues a history that only the server holds, and what goes here stays there: start a new "
            "chain that sends the items themselves, without a reference to earlier ones (`previous_response_id`).",
            before,
        )
    limit = _target(policy, decision.limit_tokens, measure.tokens, count)
    target = measure.tokens - 1 if limit is None else limit
    if target >= measure.tokens:
        return Skip("nothing_to_compact", f"{measure.tokens} tokens: the target of {target} is met.", before)

    floor = measure.fixed_tokens + measure.messages(0, ground.start)
    floor += measure.messages(ground.first_unanswered, len(transcript)) - measure.messages(*ground.layout.folded)
    if limit is not None and limit < floor:
        return Skip(
            "budget_below_floor",
            f"The instructions and the unanswered user messages count up to {floor} tokens; the target is {limit}.",
            before,
        )

    aim = target if limit is None else int(target * policy.target_share)
    draft = Draft(
        ground,
        measure,
        aim,
        target_is_limit=limit is not None,
        limit_tokens=decision.limit_tokens if limit is None else limit,
        time=state.time,
    )
    if draft.limit_tokens is None:
        draft.limit_tokens = window_tokens
    for step in policy.steps:
        if draft.is_met():
            break
        run_step(draft, step)
    if not draft.changed:
        return _unchanged(draft)
    return _fitted(draft, policy, target, encoding=encoding, model=model)


def _target(policy: Policy, limit_tokens: int | None, ours: int, theirs: TokenCount) -> int | None:
    """Return the most that the result may count, in our own tokens."""
    limit = limit_tokens if policy.target_tokens is None else policy.target_tokens
    if limit is None or theirs.n <= ours:
        return limit
    # The provider counts more than we do: what is a limit there is less here.
    return limit * ours // theirs.n


def _fitted(
    draft: Draft, policy: Policy, limit_tokens: int, *, encoding: str | None, model: str | None
) -> CompactionPlan | Skip:
    before = draft.measure.whole
    thinking = settle_thinking(draft, policy.thinking_policy, model)
    # Below the limit but not down to the low watermark is still a compaction.
    least = draft.tokens_with_least()
    target = draft.target_tokens if least <= draft.target_tokens else limit_tokens
    if least > target:
        pinned = draft.measure.fixed_tokens + draft.measure.messages(0, draft.ground.start) + draft.head_tokens
        if draft.head_tokens and pinned > target:
            text = f"The instructions and the head that stays count up to {pinned} tokens; the target is {target}."
            return Skip("budget_below_floor", text, before)
        return Skip(
            "misses_target",
            f"{least} tokens would be left after every step; the target is {target}: keep less, "
            "take a step that summarizes, or raise the limit.",
            before,
        )
    kept = draft.kept_tokens()
    summary_tokens = 0 if draft.hole is None else min(draft.hole.most_tokens, target - kept)
    broken = _broken_where_kept(draft)
    if broken:
        return Skip("invalid_input", f"A message that would be kept is not valid: {broken[0].text}.", before, broken)
    tiles = draft.tiles(summary_tokens)
    return CompactionPlan(
        source=draft.transcript.fingerprint,
        messages=len(draft.transcript),
        encoding=encoding,
        model=model,
        tiles=tiles,
        before=before,
        tokens_at_most=kept + summary_tokens,
        target_tokens=target,
        policy=policy.name,
        options=draft.options,
        thinking=thinking,
        prefix=_prefix(draft.transcript, tiles, encoding, model),
        fit=policy.fit,
    )


def _prefix(transcript: Transcript, tiles: tuple[Tile, ...], encoding: str | None, model: str | None) -> PrefixReport:
    """Compare the transcript with what stands before the first change."""
    kept = range(tiles[0].stop if tiles and isinstance(tiles[0], KeepRange) else 0)
    return compare_prefix(transcript, transcript.splice([kept]), encoding=encoding, model=model)


def _broken_where_kept(draft: Draft) -> tuple[Finding, ...]:
    """Find the errors of the input that would be in the result too: those of kept messages."""
    errors = [f for f in draft.ground.findings if f.severity == "error"]
    return tuple([f for f in errors if not any(f.message in going for going in draft.gone)])


_WEIGHT: tuple[SkipReason, ...] = ("no_legal_split", "no_reduction", "nothing_to_compact")


def _unchanged(draft: Draft) -> Skip:
    """Choose of the reasons that the steps gave: one that names an obstacle before one that names none."""
    if not draft.reasons:
        return Skip("nothing_to_compact", "The policy has no step.", draft.measure.whole)
    reason = min(draft.reasons, key=lambda r: _WEIGHT.index(r.reason) if r.reason in _WEIGHT else len(_WEIGHT))
    return Skip(reason.reason, reason.text, draft.measure.whole)
