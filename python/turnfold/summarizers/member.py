"""One summarizer in a chain, with what the chain may do with it."""

from dataclasses import dataclass
from importlib.util import find_spec

from turnfold.errors import ArgumentError, MissingExtraError
from turnfold.model.judgement import DEFAULT_REPLY_POLICY, ReplyPolicy
from turnfold.summarizers.protocol import Summarizer


@dataclass(frozen=True, slots=True)
class Member:
    """A summarizer in a chain: how long one try may take, how often it is asked, and how its replies are judged.

    What is None is the summarizer's own affair (see `Summarizer`); where it says nothing a try has no timeout of its
    own, it is asked once, and judged by `DEFAULT_REPLY_POLICY`. Every try lies within the deadline of the whole call.
    """

    summarizer: Summarizer
    timeout_seconds: float | None = None
    tries: int | None = None
    policy: ReplyPolicy | None = None

    def __post_init__(self) -> None:
        if self.timeout_seconds is not None and not self.timeout_seconds > 0:
            raise ArgumentError(f"timeout_seconds must be over 0, got {self.timeout_seconds}")
        if self.tries is not None and self.tries < 1:
            raise ArgumentError(f"tries must be at least 1, got {self.tries}")
        if self.tries is not None and self.tries > 1 and find_spec("stamina") is None:
            raise MissingExtraError("Asking more than once needs stamina: pip install 'turnfold[retry]'")

    @property
    def name(self) -> str:
        """What results call it."""
        # A summarizer that forgot its name is still a summarizer.
        return str(getattr(self.summarizer, "name", type(self.summarizer).__name__))

    def settled(self) -> "Member":
        """Return a member that has an answer where the summarizer has one."""
        one = self.summarizer
        return Member(
            one,
            getattr(one, "timeout_seconds", None) if self.timeout_seconds is None else self.timeout_seconds,
            self.tries or getattr(one, "tries", 1),
            self.policy or getattr(one, "reply_policy", DEFAULT_REPLY_POLICY),
        )
