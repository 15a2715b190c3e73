"""The guards of conftest do stop a test."""

import socket
import time
from urllib.request import urlopen

import pytest


def test_a_test_cannot_sleep() -> None:
    with pytest.raises(AssertionError, match="virtual clock"):
        time.sleep(0)


@pytest.mark.parametrize("host", ["192.0.2.1", "example.invalid"])
def test_a_test_cannot_connect_beyond_loopback(host: str) -> None:
    with pytest.raises(AssertionError, match="beyond loopback"):
        urlopen(f"http://{host}/", timeout=1)
    with socket.socket() as s, pytest.raises(AssertionError, match="beyond loopback"):
        s.connect((host, 80))


def test_loopback_works() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()[:2]) as client,
        server.accept()[0] as accepted,
    ):
        client.sendall(b"x")
        assert accepted.recv(1) == b"x"
