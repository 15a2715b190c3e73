"""How many requests and tokens may go out in a minute: token buckets that queue in order."""

import threading
import time
from typing import Final

import anyio
import anyio.lowlevel

from turnfold.errors import ArgumentError, SummarizerError
from turnfold.summarizers.deadline import current_deadline

_MINUTE: Final = 60.0


class RateLimit:
    """At most so many requests and tokens a minute, over all who share this object; None is no limit.

    A full minute's worth may go at once, then more comes back evenly. Who must wait is served in the order of asking.
    One who could not be served before its deadline, or asks for more than a minute's worth, is refused at once
    (`rate_limited` with the wait, `too_long`). May be shared by event loops and threads.
    """

    def __init__(self, *, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        for name, value in (("requests_per_minute", requests_per_minute), ("tokens_per_minute", tokens_per_minute)):
            if value is not None and not value > 0:
                raise ArgumentError(f"{name} must be over 0, got {value}")
        self._requests = _Bucket(requests_per_minute)
        self._tokens = _Bucket(tokens_per_minute)
        self._lock = threading.Lock()

    async def take(self, tokens: int) -> None:
        """Wait until one request of so many tokens may go. Cancelled while it waits, it takes nothing."""
        if self._tokens.capacity is not None and tokens > self._tokens.capacity:
            most = f"{self._tokens.capacity:.0f} tokens a minute"
            raise SummarizerError(f"The request counts {tokens} tokens; the limit is {most}", "too_long")
        now = _Now()
        with self._lock:
            wait_seconds = max(self._requests.take(1, now), self._tokens.take(tokens, now))
        try:
            await _wait(wait_seconds)
        except BaseException:
            with self._lock:
                self._requests.give_back(1)
                self._tokens.give_back(tokens)
            raise

    def settle(self, taken_tokens: int, used_tokens: int) -> None:
        """Give back what a request did not use, or take what it used more."""
        with self._lock:
            self._tokens.give_back(taken_tokens - used_tokens)

    def pause(self, seconds: float) -> None:
        """Let nobody else go for so long: the server asked for it."""
        with self._lock:
            self._requests.close(seconds, _Now())


async def _wait(seconds: float) -> None:
    left_seconds = current_deadline() - anyio.current_time()
    if seconds > left_seconds:
        text = f"The rate limit has room in {seconds:.1f} s, and the deadline is in {left_seconds:.1f} s"
        raise SummarizerError(text, "rate_limited", retry_after_seconds=seconds)
    await anyio.sleep(seconds)


class _Now:
    """The time on the event loop's clock, which may be virtual, and on the process's, which all loops share."""

    def __init__(self) -> None:
        self.loop = anyio.lowlevel.current_token()
        self.loop_seconds = anyio.current_time()
        self.process_seconds = time.monotonic()

    def since(self, earlier: "_Now") -> float:
        if self.loop == earlier.loop:
            return self.loop_seconds - earlier.loop_seconds
        return self.process_seconds - earlier.process_seconds


class _Bucket:
    """What is there now; below zero it is promised to those who wait."""

    def __init__(self, per_minute: float | None) -> None:
        self.capacity = per_minute
        self._level = per_minute or 0.0
        self._seen: _Now | None = None
        self._closed_seconds = 0.0

    def take(self, amount: float, now: _Now) -> float:
        """Take `amount`, and say how long it takes until it is there."""
        self._refill(now)
        if self.capacity is None:
            return self._closed_seconds
        self._level -= amount
        return max(self._closed_seconds, -self._level * _MINUTE / self.capacity)

    def give_back(self, amount: float) -> None:
        if self.capacity is not None:
            self._level = min(self.capacity, self._level + amount)

    def close(self, seconds: float, now: _Now) -> None:
        self._refill(now)
        self._closed_seconds = max(self._closed_seconds, seconds)

    def _refill(self, now: _Now) -> None:
        passed = 0.0 if self._seen is None else max(0.0, now.since(self._seen))
        self._seen = now
        self._closed_seconds = max(0.0, self._closed_seconds - passed)
        if self.capacity is not None:
            self.give_back(passed * self.capacity / _MINUTE)
