"""A summarizer around another one: what it says of itself is what the inner one says."""

from turnfold.model.judgement import DEFAULT_REPLY_POLICY, ReplyPolicy
from turnfold.summarizers.protocol import Summarizer, model_of, reserve_of, window_of


class Wrapping:
    """Passes on the name and the traits of the summarizer that it holds."""

    def __init__(self, inner: Summarizer) -> None:
        self._inner = inner

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inner!r})"

    @property
    def name(self) -> str:
        """What results call it."""
        return str(getattr(self._inner, "name", type(self._inner).__name__))

    @property
    def window_tokens(self) -> int | None:
        """How many tokens its model takes."""
        return window_of(self._inner)

    @property
    def reserve_tokens(self) -> int | None:
        """How many tokens of the window it wants left for its reply."""
        return reserve_of(self._inner)

    @property
    def model(self) -> str | None:
        """The name of its model."""
        return model_of(self._inner)

    @property
    def timeout_seconds(self) -> float | None:
        """How long one try may take."""
        seconds: float | None = getattr(self._inner, "timeout_seconds", None)
        return seconds

    @property
    def tries(self) -> int:
        """How often it may be asked for one summary."""
        tries: int = getattr(self._inner, "tries", 1)
        return tries

    @property
    def reply_policy(self) -> ReplyPolicy:
        """How its replies are judged."""
        policy: ReplyPolicy = getattr(self._inner, "reply_policy", DEFAULT_REPLY_POLICY)
        return policy
