"""Whether a policy fires, and the limit that it fires at."""

import msgspec

from turnfold.errors import UnknownWindowError
from turnfold.model.counts import TokenCount
from turnfold.model.policy import AnyOf, ModelWindow, OnRequest, ShareOver, TokensOver, Trigger


class Decision(msgspec.Struct, frozen=True):
    """`fired`, and the smallest limit that the trigger compares with: None where it has none."""

    fired: bool
    limit_tokens: int | None


def decide(trigger: Trigger, count: TokenCount, *, model: str | None, window_tokens: int | None = None) -> Decision:
    """Compare `count` with the trigger's limits. `window_tokens` overrides what the policy says of the model's window.

    Raises `UnknownWindowError` where only a share of an unknown window could decide.
    """
    limits: list[int] = []
    asked = False
    shares_left_out = False
    for one in trigger.triggers if isinstance(trigger, AnyOf) else (trigger,):
        match one:
            case OnRequest():
                asked = True
            case TokensOver(limit_tokens=limit):
                limits.append(limit)
            case ShareOver():
                window = window_tokens or one.window_tokens or window_of(model, one.windows)
                if window is None:
                    shares_left_out = True
                else:
                    limits.append(int(one.share * window))
    if shares_left_out and not limits and not asked:
        named = f"of the model {model!r}" if model else "(the request names no model)"
        raise UnknownWindowError(
            f"The policy is a share of the model's window, and the window {named} is not known: "
            "pass window_tokens=..., or give the policy a limit in tokens"
        )
    limit_tokens = min(limits, default=None)
    fired = asked or (limit_tokens is not None and count.n > limit_tokens)
    return Decision(fired=fired, limit_tokens=limit_tokens)


def window_of(model: str | None, windows: tuple[ModelWindow, ...]) -> int | None:
    """Look up the entry that names `model` most closely: its name, or the longest that it begins with up to a `-`.

    A path before the name (`vendor/model`) is passed over.
    """
    if model is None:
        return None
    name = model.rpartition("/")[2]
    matching = [w for w in windows if name == w.model or name.startswith(f"{w.model}-")]
    return max(matching, key=lambda w: len(w.model)).window_tokens if matching else None
