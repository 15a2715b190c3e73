"""A store in one file: SQLite, through the standard library."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from turnfold.errors import ArgumentError, CorruptStoreError, NewerStoreError, StoreUnavailableError
from turnfold.model.stored import Lease
from turnfold.stores.blocking import BlockingStore, LockedError, stop_if_cancelled
from turnfold.stores.owner import Owner, Pending

SCHEMA_VERSION: Final = 1
APPLICATION_ID: Final = 0x7475_726E
"""What marks a file as a store of turnfold: `turn`."""

_SCHEMA: Final = """
CREATE TABLE sessions (conversation TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE summaries (
  conversation TEXT NOT NULL, version INTEGER NOT NULL, record BLOB NOT NULL, PRIMARY KEY (conversation, version)
) WITHOUT ROWID;
CREATE TABLE pending (conversation TEXT PRIMARY KEY, token TEXT NOT NULL, lease BLOB NOT NULL) WITHOUT ROWID;
"""
_LOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED: Final = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_ERROR,  # a table is missing, or is not what it was made as
    }
)
_ADVICE: Final = {
    sqlite3.SQLITE_FULL: "make room on its disk",
    sqlite3.SQLITE_IOERR: "see whether its disk is well, and is no network drive",
    sqlite3.SQLITE_READONLY: "the file and its folder must be writable",
}


class SQLiteStore(BlockingStore):
    """Keeps everything in the file at `path`, which is made where there is none. The folder must exist.

    Several processes may use one file, and several threads and event loops one store. Commits are on the disk when they
    return, and survive a process that is killed at any moment. Beside the file stand `-wal` and `-shm` while it is in
    use; it must not lie on a network drive, where SQLite's locks do not hold. New files are readable by their owner
    alone. A call waits for at most `wait_seconds` where another process writes.

    A file of another program, a damaged one and one of a newer version are refused and left as they are.
    """

    def __init__(self, path: str | os.PathLike[str], *, wait_seconds: float = 10.0, owner: Owner | None = None) -> None:
        if not wait_seconds >= 0:
            raise ArgumentError(f"wait_seconds must be at least 0, got {wait_seconds}")
        super().__init__(wait_seconds=wait_seconds, owner=owner)
        self._path = Path(path).absolute()
        self._lock = threading.Lock()
        self._open: tuple[sqlite3.Connection, tuple[int, int]] | None = None

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self._path)!r})"

    def __del__(self) -> None:
        self._close_own()

    @property
    def name(self) -> str:
        """What events call it."""
        return "sqlite"

    def _place(self) -> str:
        return str(self._path)

    def _read(self, conversation: str) -> tuple[list[tuple[int, bytes]], bytes | None]:
        with self._transaction("BEGIN") as connection:
            records = connection.execute(
                "SELECT version, record FROM summaries WHERE conversation = ? ORDER BY version", (conversation,)
            ).fetchall()
            state = connection.execute("SELECT state FROM sessions WHERE conversation = ?", (conversation,)).fetchone()
        return records, None if state is None else state[0]

    def _take(
        self, conversation: str, write: Callable[[Pending | None, int, float], Pending | None]
    ) -> tuple[Pending | None, Pending | None]:
        with self._transaction() as connection:
            row = connection.execute("SELECT lease FROM pending WHERE conversation = ?", (conversation,)).fetchone()
            before = None if row is None else self._decoded(row[0], Pending, conversation)
            pending = write(before, _version(connection, conversation), time.time())
            if pending is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO pending VALUES (?, ?, ?)",
                    (conversation, pending.token, msgspec.json.encode(pending)),
                )
        return before, pending

    def _add(self, lease: Lease, record: bytes) -> tuple[bool, int]:
        with self._transaction() as connection:
            found = _version(connection, lease.conversation)
            if found != lease.base_version or not _end(connection, lease.conversation, lease.token):
                return False, found
            connection.execute(
                "INSERT INTO summaries VALUES (?, ?, ?)", (lease.conversation, lease.base_version + 1, record)
            )
        return True, lease.base_version + 1

    def _end(self, conversation: str, token: str) -> bool:
        with self._transaction() as connection:
            return _end(connection, conversation, token)

    def _all_pending(self) -> tuple[list[tuple[str, Pending]], float]:
        with self._transaction("BEGIN") as connection:
            rows = connection.execute("SELECT conversation, lease FROM pending ORDER BY conversation").fetchall()
        return [(name, self._decoded(lease, Pending, name)) for name, lease in rows], time.time()

    def _put_state(self, conversation: str, state: bytes) -> None:
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (conversation, state))

    def _remove(self, conversation: str) -> None:
        with self._transaction() as connection:
            for table in ("summaries", "sessions", "pending"):
                connection.execute(f"DELETE FROM {table} WHERE conversation = ?", (conversation,))  # noqa: S608

    def _close(self) -> None:
        with self._lock:
            self._close_own()

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """Give the connection within a transaction: committed at the end, rolled back whatever is raised."""
        with self._lock, self._named_errors():
            connection = self._connection()
            try:
                connection.execute(begin)
                yield connection
                self._before_commit()
                connection.execute("COMMIT")
            except BaseException:
                self._roll_back(connection)
                raise

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except Exception:  # noqa: BLE001  # what was raised first is what went wrong
            # It would refuse every transaction from now on. Closed, it forgets the one that is open.
            self._open = None
            connection.close()

    def _before_commit(self) -> None:
        """Do what is done while a transaction is written and not committed. Tests break it off here."""
        stop_if_cancelled()

    def _connection(self) -> sqlite3.Connection:
        # A connection does not survive a fork, and writes to a file that was deleted or replaced are lost.
        if self._open is None or self._open[1] != self._identity():
            self._close_own()
            connection = self._connect()
            self._open = (connection, self._identity())
        return self._open[0]

    def _close_own(self) -> None:
        # Newer Pythons complain of a connection that nobody closed. After a fork it belongs to the parent.
        opened = getattr(self, "_open", None)
        if opened is not None and opened[1][0] == os.getpid():
            self._open = None
            opened[0].close()

    def _identity(self) -> tuple[int, int]:
        try:
            return os.getpid(), self._path.stat().st_ino
        except FileNotFoundError:
            return os.getpid(), 0

    def _connect(self) -> sqlite3.Connection:
        if not self._path.exists():
            # SQLite would let the umask decide who reads conversations.
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(self._path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            # In one view of the file: another process may be making it a store just now.
            connection.execute("BEGIN")
            self._check(connection)
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            self._make(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> bool:
        """Say whether the file is a store that this version knows, or an empty one that may become it; else raise."""
        marked = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if marked == APPLICATION_ID:
            if version > SCHEMA_VERSION:
                raise NewerStoreError(
                    f"{self._path} has schema version {version}, and this version of turnfold knows {SCHEMA_VERSION}: "
                    "update turnfold, or name another file"
                )
            return True
        if marked or version or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise CorruptStoreError(f"{self._path} is a database of another program: name another file")
        return False

    def _make(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have been first.
            if not self._check(connection):
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in _LOCKED:
                raise LockedError from error
            if code in _DAMAGED:
                raise CorruptStoreError(
                    f"{self._path} is damaged or no SQLite database ({error}): restore a copy, or name another file"
                ) from error
            advice = _ADVICE.get(code, "see that it is a file which can be read and written, as must be its folder")
            raise StoreUnavailableError(f"{self._path}: {error}; {advice}") from error
        except OSError as error:
            advice = "make its folder" if isinstance(error, FileNotFoundError) else "its folder must be writable"
            raise StoreUnavailableError(f"{self._path}: {error.strerror}; {advice}, or name another file") from error


def _version(connection: sqlite3.Connection, conversation: str) -> int:
    row = connection.execute("SELECT max(version) FROM summaries WHERE conversation = ?", (conversation,)).fetchone()
    return row[0] or 0


def _end(connection: sqlite3.Connection, conversation: str, token: str) -> bool:
    done = connection.execute("DELETE FROM pending WHERE conversation = ? AND token = ?", (conversation, token))
    return done.rowcount == 1
