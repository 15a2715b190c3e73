"""The provider compacts itself: the request that asks it to, where it has one."""

from typing import Final, Literal

from turnfold.errors import ArgumentError
from turnfold.model.policy import AskProvider, Policy
from turnfold.model.provider import LIMIT, ProviderRule, SetField
from turnfold.presets.budget import FRACTION, budget

Ask = Literal["now", "standing"]
"""`now`: one request that returns the compacted conversation. `standing`: a setting that goes with every request, with
which the provider compacts by itself above the limit, in the course of answering."""

NOW: Final = (
    # Parameters as OpenAI's SDK has them (`ResponseCompactParams`); the endpoint knows no others.
    ProviderRule(
        format="openai.responses",
        endpoint="POST /v1/responses/compact",
        only=(
            "image",
            "input",
            "instructions",
            "model",
            "previous_response_id",
            "prompt_cache_key",
            "prompt_cache_options",
            "prompt_cache_retention",
            "service_tier",
        ),
    ),
    # As Anthropic's SDK has it (`BetaCompactionConfigParam`): not to be combined with context_management.
    ProviderRule(
        format="anthropic.messages",
        endpoint="POST /v1/messages",
        headers=(("anthropic-beta", "compact-2026-09-04"),),
        fields=(SetField("compaction", '{"type":"summarize"}'),),
        dropped=("context_management",),
    ),
)

STANDING: Final = (
    ProviderRule(
        format="openai.responses",
        endpoint="POST /v1/responses",
        fields=(SetField("context_management", f'{{"type":"compaction","compact_threshold":"{LIMIT}"}}', into=()),),
        needs_limit=True,
        least_limit_tokens=1_000,
    ),
    # `BetaCompact20260112EditParam`. The least value of a trigger is in the table of parameters of
    # https://platform.claude.com/docs/en/build-with-claude/compaction-threshold.
    ProviderRule(
        format="anthropic.messages",
        endpoint="POST /v1/messages",
        headers=(("anthropic-beta", "compact-2026-01-12"),),
        fields=(
            SetField(
                "context_management",
                f'{{"type":"compact_20260112","trigger":{{"type":"input_tokens","value":"{LIMIT}"}}}}',
                into=("edits",),
            ),
        ),
        dropped=("compaction",),
        needs_limit=True,
        least_limit_tokens=50_000,
    ),
)


def provider_compaction(
    fraction: float | None = FRACTION,
    limit_tokens: int | None = None,
    *,
    window_tokens: int | None = None,
    ask: Ask = "now",
) -> Policy:
    """Fire at a budget, and leave the compaction to the provider.

    The outcome is a `Skip` with the reason `left_to_provider`, whose `request` says what to send and where;
    `turnfold.provider_body` makes its body. With `ask="standing"` it is the next request itself, with the setting by
    which the provider compacts above the limit, fired or not. OpenAI Responses and Anthropic Messages have both;
    elsewhere the reason is `no_provider_compaction`.
    """
    if ask not in {"now", "standing"}:
        raise ArgumentError(f"ask must be now or standing, got {ask!r}")
    return Policy(
        trigger=budget("provider_compaction", fraction, limit_tokens, window_tokens),
        steps=(AskProvider(NOW) if ask == "now" else AskProvider(STANDING, standing=True),),
        name="provider_compaction",
    )
