"""How many input tokens well-known models take, as LiteLLM's public model list (1.110) says. Dated variants match too.

Where a vendor states one window for input and output together, the output's share is taken off, so that a limit is
never too high. A model that is missing is no fault: presets then ask for `window_tokens`.
"""

from turnfold.model.policy import ModelWindow

_NAMES_BY_TOKENS: dict[int, tuple[str, ...]] = {
    8_192: ("gpt-4",),
    16_385: ("gpt-3.5-turbo",),
    128_000: (
        "chatgpt-4o-latest",
        "gpt-4-0125-preview",
        "gpt-4-1106-preview",
        "gpt-4-turbo",
        "gpt-4o",
        "gpt-5-chat",
        "gpt-5.1-chat",
        "gpt-5.2-chat",
        "gpt-5.3-chat",
        "o1-mini",
        "o1-preview",
    ),
    131_072: ("gpt-oss-120b", "gpt-oss-20b"),
    200_000: (
        "claude-3",
        "claude-haiku-4-5",
        "claude-opus-4",
        "claude-opus-4-1",
        "claude-opus-4-5",
        "claude-sonnet-4",
        "claude-sonnet-4-5",
        "o1",
        "o3",
        "o4-mini",
    ),
    272_000: (
        "gpt-5",
        "gpt-5.1",
        "gpt-5.2",
        "gpt-5.3-codex",
        "gpt-5.4-mini",
        "gpt-5.4-nano",
        "gpt-5.6-cyber",
    ),
    922_000: ("gpt-5.4", "gpt-5.5", "gpt-5.6", "gpt-6", "gpt-6.1"),
    1_000_000: (
        "claude-fable-5",
        "claude-haiku-5-5",
        "claude-mythos-5",
        "claude-opus-4-6",
        "claude-opus-4-7",
        "claude-opus-4-8",
        "claude-opus-5",
        "claude-sonnet-4-6",
        "claude-sonnet-5",
    ),
    1_047_576: ("gpt-4.1",),
}

WINDOWS: tuple[ModelWindow, ...] = tuple(
    ModelWindow(model=name, window_tokens=tokens) for tokens, names in _NAMES_BY_TOKENS.items() for name in names
)
"""One row a model."""
