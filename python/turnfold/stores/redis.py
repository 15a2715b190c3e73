"""A store in Redis (the extra `redis`), for sessions that several machines share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote, unquote, urlsplit

import msgspec

from turnfold.errors import (
    ArgumentError,
    CorruptStoreError,
    MissingExtraError,
    NewerStoreError,
    StoreUnavailableError,
)
from turnfold.model.stored import Lease
from turnfold.stores.blocking import BlockingStore, LockedError, stop_if_cancelled
from turnfold.stores.owner import Owner, Pending

if TYPE_CHECKING:
    import redis

SCHEMA_VERSION: Final = 1

# Each conversation is two hashes in one slot: `summaries` by version, and `session` with schema, version, state, lease
# and its token. A script runs as a whole.
_ADD: Final = """
local found = tonumber(redis.call('HGET', KEYS[1], 'version') or '0')
if found ~= tonumber(ARGV[2]) or redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return {0, found} end
redis.call('HSET', KEYS[2], found + 1, ARGV[3])
redis.call('HSET', KEYS[1], 'version', found + 1, 'schema', ARGV[4])
redis.call('HDEL', KEYS[1], 'token', 'lease')
return {1, found + 1}
"""
_TAKE: Final = """
if (redis.call('HGET', KEYS[1], 'token') or '') ~= ARGV[1] then return 0 end
if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'token', ARGV[3], 'lease', ARGV[4], 'schema', ARGV[5])
return 1
"""
_END: Final = """
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'token', 'lease')
return 1
"""


class RedisStore(BlockingStore):
    """Keeps everything in a Redis server, under keys that begin with `prefix`.

    How long commits survive is what the server's persistence says. `timeout_seconds` is how long one command may take.
    Times are the server's, so clocks of machines need not agree. The password of `url` is in no message.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "turnfold",
        timeout_seconds: float = 5.0,
        wait_seconds: float = 10.0,
        owner: Owner | None = None,
    ) -> None:
        if not timeout_seconds > 0:
            raise ArgumentError(f"timeout_seconds must be over 0, got {timeout_seconds}")
        if any(character in prefix for character in "{}*?[]\\"):
            raise ArgumentError(f"prefix must be without braces, brackets, * and ?, got {prefix!r}")
        super().__init__(wait_seconds=wait_seconds, owner=owner)
        try:
            import redis
        except ImportError as error:
            raise MissingExtraError("RedisStore needs the package redis: pip install 'turnfold[redis]'") from error
        self._errors = redis.exceptions
        self._prefix = prefix
        try:
            # Commands are not repeated by the client: a commit must not be made twice.
            self._client = redis.Redis.from_url(
                url, socket_timeout=timeout_seconds, socket_connect_timeout=timeout_seconds, retry=None
            )
            parts = urlsplit(url)
            self._shown = f"{parts.scheme}://{parts.hostname or ''}:{parts.port or 6379}{parts.path}"
        except ValueError:
            raise ArgumentError("url must be one of Redis: redis://host:6379/0, rediss://..., unix://...") from None

    def __repr__(self) -> str:
        return f"RedisStore({self._shown!r})"

    @property
    def name(self) -> str:
        """What events call it."""
        return "redis"

    def _place(self) -> str:
        return self._shown

    def _read(self, conversation: str) -> tuple[list[tuple[int, bytes]], bytes | None]:
        with self._reached() as client:
            session, summaries = self._keys(conversation)
            pipeline = client.pipeline(transaction=True)
            pipeline.hgetall(session)
            pipeline.hgetall(summaries)
            fields, records = pipeline.execute()
            self._check(fields.get(b"schema"), conversation)
            return sorted((int(version), record) for version, record in records.items()), fields.get(b"state")

    def _take(
        self, conversation: str, write: Callable[[Pending | None, int, float], Pending | None]
    ) -> tuple[Pending | None, Pending | None]:
        with self._reached() as client:
            session, _ = self._keys(conversation)
            lease, token, version, schema = cast(
                "list[bytes | None]", client.hmget(session, ["lease", "token", "version", "schema"])
            )
            self._check(schema, conversation)
            before = None if lease is None else self._decoded(lease, Pending, conversation)
            pending = write(before, int(version or 0), self._time(client))
            if pending is None:
                return before, None
            arguments: list[bytes | str | int] = [
                token or b"",
                version or b"0",
                pending.token,
                msgspec.json.encode(pending),
                SCHEMA_VERSION,
            ]
            stop_if_cancelled()
            if not client.eval(_TAKE, 1, session, *arguments):
                raise LockedError
        return before, pending

    def _add(self, lease: Lease, record: bytes) -> tuple[bool, int]:
        with self._reached() as client:
            session, summaries = self._keys(lease.conversation)
            self._check(cast("bytes | None", client.hget(session, "schema")), lease.conversation)
            stop_if_cancelled()
            done, found = cast(
                "list[int]",
                client.eval(_ADD, 2, session, summaries, lease.token, lease.base_version, record, SCHEMA_VERSION),
            )
        return bool(done), found

    def _end(self, conversation: str, token: str) -> bool:
        with self._reached() as client:
            return bool(client.eval(_END, 1, self._keys(conversation)[0], token))

    def _all_pending(self) -> tuple[list[tuple[str, Pending]], float]:
        with self._reached() as client:
            found = []
            for key in sorted(cast("Iterator[bytes]", client.scan_iter(f"{self._prefix}:{{*}}:session", count=1_000))):
                conversation = unquote(key.decode().split("{", 1)[1].rpartition("}")[0])
                lease = cast("bytes | None", client.hget(key, "lease"))
                if lease is not None:
                    found.append((conversation, self._decoded(lease, Pending, conversation)))
            return found, self._time(client)

    def _put_state(self, conversation: str, state: bytes) -> None:
        with self._reached() as client:
            session, _ = self._keys(conversation)
            self._check(cast("bytes | None", client.hget(session, "schema")), conversation)
            stop_if_cancelled()
            client.hset(session, mapping={"state": state, "schema": SCHEMA_VERSION})

    def _remove(self, conversation: str) -> None:
        with self._reached() as client:
            client.delete(*self._keys(conversation))

    def _close(self) -> None:
        self._client.close()

    def _keys(self, conversation: str) -> tuple[str, str]:
        slot = f"{self._prefix}:{{{quote(conversation, safe='')}}}"
        return f"{slot}:session", f"{slot}:summaries"

    def _time(self, client: "redis.Redis") -> float:
        seconds, micros = client.time()
        return seconds + micros / 1e6

    def _check(self, schema: bytes | None, conversation: str) -> None:
        if schema is not None and int(schema) > SCHEMA_VERSION:
            raise NewerStoreError(
                f"{self._shown}: conversation {conversation!r} has schema version {int(schema)}, and this version of "
                f"turnfold knows {SCHEMA_VERSION}: update turnfold, or use another prefix"
            )

    @contextmanager
    def _reached(self) -> Iterator["redis.Redis"]:
        try:
            yield self._client
        except (self._errors.ConnectionError, self._errors.TimeoutError) as error:
            raise StoreUnavailableError(f"{self._shown} cannot be reached ({type(error).__name__})") from None
        except self._errors.ResponseError as error:
            if "WRONGTYPE" in str(error):
                raise CorruptStoreError(
                    f"{self._shown}: a key under {self._prefix!r} is of another program: use another prefix"
                ) from None
            raise StoreUnavailableError(f"{self._shown} refuses the command: {error}") from None
        except (UnicodeDecodeError, ValueError) as error:
            if isinstance(error, ArgumentError):
                raise
            raise CorruptStoreError(f"{self._shown}: a key under {self._prefix!r} cannot be read ({error})") from None
