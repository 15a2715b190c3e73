"""The summarizers of a batch: within its limits, and asked once for what is asked often."""

from dataclasses import dataclass, replace

from turnfold.batch.limits import BatchLimits
from turnfold.batch.remembered import Remembered, SharedReplies
from turnfold.summarizers.fallback import Fallback
from turnfold.summarizers.limited import Limited
from turnfold.summarizers.member import Member
from turnfold.summarizers.progress import NO_MODEL
from turnfold.summarizers.protocol import Summarizer, model_of
from turnfold.summarizers.rate_limit import RateLimit
from turnfold.summarizers.spending import SpendCap


@dataclass(frozen=True, slots=True)
class Asking:
    """The chain that one item asks."""

    chain: Fallback
    remembered: tuple[Remembered, ...]

    @property
    def reused(self) -> int:
        """How many requests were answered with the reply to an equal one."""
        return sum(one.reused for one in self.remembered)


class Summarizers:
    """What the items of a batch ask: the members of `summarizer`, sharing `limits` and `replies`.

    `identity` names all that decides a summary beside the request: name and model of each member.
    """

    def __init__(self, summarizer: Summarizer, limits: BatchLimits, replies: SharedReplies) -> None:
        self._members = Fallback(summarizer).members
        self._replies = replies
        self._rate = self._spend = None
        if limits.requests_per_minute is not None or limits.tokens_per_minute is not None:
            self._rate = RateLimit(
                requests_per_minute=limits.requests_per_minute, tokens_per_minute=limits.tokens_per_minute
            )
        if limits.most_spent is not None and limits.price is not None:
            self._spend = SpendCap(limits.most_spent, limits.price)

    @property
    def identity(self) -> str:
        """Who is asked, in which order."""
        return "\0".join(_identity(member) for member in self._members)

    def asking(self) -> Asking:
        """Return the chain for one item."""
        members: list[Member] = []
        remembered: list[Remembered] = []
        for member in self._members:
            if member.name in NO_MODEL:
                members.append(member)
                continue
            one = member.summarizer
            if self._rate is not None or self._spend is not None:
                one = Limited(one, rate=self._rate, spend=self._spend)
            one = Remembered(one, self._replies, _identity(member))
            remembered.append(one)
            members.append(replace(member, summarizer=one))
        return Asking(Fallback(*members), tuple(remembered))


def _identity(member: Member) -> str:
    return f"{member.name} {model_of(member.summarizer)}"
