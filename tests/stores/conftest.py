"""Every store there is, under one name each."""

import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from turnfold.model.plan import SummaryHole
from turnfold.model.stored import StoredSummary
from turnfold.stores import MemoryStore, RedisStore, SQLiteStore

Make = Callable[..., Any]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server, on a port of its own."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        ready = any("eady to accept" in line for line in iter(server.stdout.readline, ""))
        assert ready, "the server did not start"
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@pytest.fixture(params=["memory", "sqlite", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes stores that share what they hold, as two processes do; a memory store is always the same."""
    made: list[Any] = []
    memory = MemoryStore()

    def one(**options: Any) -> Any:
        if request.param == "memory":
            return memory
        if request.param == "sqlite":
            made.append(SQLiteStore(tmp_path / "sessions.db", **options))
        else:
            made.append(RedisStore(request.getfixturevalue("redis_url"), prefix=str(tmp_path), **options))
        return made[-1]

    yield one
    for store in made:
        store._close()


@pytest.fixture
def summary() -> StoredSummary:
    return StoredSummary(
        start=1,
        stop=9,
        source_digest="0" * 64,
        tiles=(SummaryHole(start=1, stop=9, role="user", max_tokens=200, task_max_tokens=100, schema="nine_sections"),),
        messages=('{"role":"user","content":"All went well."}',),
        encoding="o200k_base",
        policy="test",
        method="rules",
        before_tokens=900,
        after_tokens=90,
        unix_seconds=1.5,
    )
