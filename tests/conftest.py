"""Guards that every test runs under: no sleeping, and no network beyond loopback. And the judge of token counts."""

import signal
import socket
import time
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
import tiktoken
from hypothesis import HealthCheck, settings

from turnfold.testing.oracle import tiktoken_encodings

# No test depends on how fast the machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# In the background of a shell interrupts are ignored, and by all that is started there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LOOPBACK = ("127.", "::1", "localhost")


class ForbiddenInTestsError(AssertionError):
    """A test slept or reached for the network."""


def _no_sleep(seconds: float) -> NoReturn:
    raise ForbiddenInTestsError(f"time.sleep({seconds}): wait for an event or use a virtual clock")


def _check(address: Any) -> None:
    if isinstance(address, tuple) and not str(address[0]).startswith(LOOPBACK):
        raise ForbiddenInTestsError(f"network beyond loopback: {address[0]}")


class _LoopbackSocket(socket.socket):
    def connect(self, address: Any, /) -> None:
        _check(address)
        super().connect(address)

    def connect_ex(self, address: Any, /) -> int:
        _check(address)
        return super().connect_ex(address)

    def sendto(self, *arguments: Any) -> int:
        _check(arguments[-1])
        return super().sendto(*arguments)


@pytest.fixture(autouse=True)
def _guards(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo

    def resolve_loopback(host: Any, *arguments: Any, **options: Any) -> Any:
        if host is not None:
            _check((host if isinstance(host, str) else host.decode(),))
        return resolve(host, *arguments, **options)

    monkeypatch.setattr(time, "sleep", _no_sleep)
    monkeypatch.setattr(socket, "socket", _LoopbackSocket)
    monkeypatch.setattr(socket, "getaddrinfo", resolve_loopback)


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tiktoken.Encoding]:
    """tiktoken's encodings by name, loaded offline."""
    return tiktoken_encodings(tmp_path_factory.mktemp("vocabularies")).__getitem__
