"""The store in Redis, over a real server."""

import sys

import pytest
import redis

from turnfold.errors import (
    ArgumentError,
    CorruptStoreError,
    MissingExtraError,
    NewerStoreError,
    StoreUnavailableError,
)
from turnfold.model.stored import StoredSummary
from turnfold.stores import RedisStore

pytestmark = pytest.mark.anyio


async def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    store = RedisStore("redis://user:planted-pw@127.0.0.1:1/0", timeout_seconds=1)
    with pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1:1") as refused:
        await store.load("c")
    assert "planted-pw" not in f"{refused.value!r} {store!r} {refused.value.__cause__!r}"


async def test_a_key_of_another_program_and_a_newer_schema_are_left_alone(
    redis_url: str, summary: StoredSummary
) -> None:
    client = redis.Redis.from_url(redis_url)
    store = RedisStore(redis_url, prefix="other")
    client.set("other:{c}:session", "dear diary")
    with pytest.raises(CorruptStoreError, match="another program"):
        await store.load("c")
    assert client.get("other:{c}:session") == b"dear diary"
    client.hset("other:{d}:session", mapping={"schema": 2, "version": 4})
    for call in (store.load, store.begin):
        with pytest.raises(NewerStoreError, match="update turnfold"):
            await call("d")
    lease = await store.begin("e")
    assert lease is not None
    await store.commit(lease, summary)
    client.hset("other:{e}:summaries", "1", b"{}")
    with pytest.raises(CorruptStoreError, match="'e'"):
        await store.load("e")
    client.close()
    await store.aclose()


@pytest.mark.parametrize("url", ["http://127.0.0.1", "redis://127.0.0.1:port/0"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ArgumentError, match="redis://"):
        RedisStore(url)


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingExtraError, match=r"turnfold\[redis\]"):
        RedisStore("redis://127.0.0.1")
