"""What a run has done so far, in SQLite: a run that was killed goes on where it was, and repeats nothing.

Items are the transcripts of `compact_batch`, each by a key of everything that decides its outcome. Files and their
documents are those of a run that writes files: a document is done when its bytes are in the part file of its output and
its row is in the journal: the row says up to which byte. What lies behind the last row is cut off by the run that goes
on, so a torn end does no harm. Rows are bound to the content of the document, and files to the digest of everything
that decides the output.
"""

import contextlib
import glob
import os
import sqlite3
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Literal, Self

import msgspec

from turnfold.errors import JournalError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

VERSION: Final = 1
"""Of the tables. A journal of another version is refused."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    output TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL DEFAULT 'open',
    input_size INTEGER,
    input_mtime_ns INTEGER,
    output_size INTEGER NOT NULL DEFAULT 0,
    documents INTEGER NOT NULL DEFAULT 0,
    owner TEXT
);
CREATE TABLE IF NOT EXISTS documents (
    file INTEGER NOT NULL,
    number INTEGER NOT NULL,
    key BLOB NOT NULL,
    records BLOB NOT NULL,
    PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (key BLOB PRIMARY KEY, owner TEXT, outcome BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, reply BLOB NOT NULL) WITHOUT ROWID;
"""

_OUR_TABLES: Final = frozenset({"meta", "files", "documents"})

_SYSTEM: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
"""Errors that say nothing of what is in the file: a new journal would meet them too."""

_FILE: Final = """
SELECT id, state, documents, output_size, input_size, input_mtime_ns, owner FROM files WHERE output = ?
"""

FileState = Literal["open", "moving", "done"]
"""`open`: its part file grows; `moving`: whole, and about to be moved into its place; `done`: there."""


class JournaledFile(msgspec.Struct, frozen=True):
    """What the journal knows of a file: documents that are done, and the bytes that they take in its part file."""

    id: int
    state: FileState
    documents: int
    output_size: int
    input_size: int | None
    input_mtime_ns: int | None


class JournaledDocument(msgspec.Struct, frozen=True):
    """One document that is done. `key` is the digest of its bytes, `records` what was reported of it."""

    number: int
    key: bytes
    records: bytes


class ItemClaim(msgspec.Struct, frozen=True):
    """What the journal says to who wants to do an item: it is done, with that `outcome`; or it is `mine` to do; or,
    with neither, another run that lives is at it.
    """

    mine: bool
    outcome: bytes | None = None


def remove_journal(path: Path, *, damaged: bool) -> None:
    """Remove a journal, of whatever version or run: also one that cannot be read, with `damaged`.

    Raises `JournalError` for any other file, which is left as it is, and where a run that lives is at it.
    """
    for lock in path.parent.glob(f"{glob.escape(path.name)}.*.lock"):
        if _is_held(lock):
            raise JournalError(f"another run is at {path}: wait for it, or stop it")
    if not damaged:
        try:
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
                _refuse_foreign(database, path)
        except sqlite3.DatabaseError as error:
            raise _unprepared(path, error) from error
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


def _refuse_foreign(database: sqlite3.Connection, path: Path) -> None:
    """Raise `JournalError` for the database of another program, before anything is written to it."""
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and not tables >= _OUR_TABLES:
        raise JournalError(f"{path} is no journal of a batch but another database: name another file")


def _unprepared(path: Path, error: sqlite3.DatabaseError) -> JournalError:
    # An error of the module itself, such as one of a closed database, has no code.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _SYSTEM:
        return JournalError(f"{path} cannot be used as a journal: {error}")
    if code == sqlite3.SQLITE_CORRUPT:
        return JournalError(f"{path} is no journal of a batch, or damaged: {error}", stale=True)
    return JournalError(f"{path} is no journal of a batch: {error}; name another file")


class Journal:
    """The journal at `path`. Use it as a context manager.

    A run that writes files binds it to `run_digest`, the digest of what decides them. For `compact_batch` it needs
    none: each item is bound to its own.

    Several runs, in several processes, may use one journal at a time: a file, or an item, is worked on by the run that
    claims it first. What a run that died had claimed is free again: each run holds a lock on a file of its own beside
    the journal, which the operating system lets go of when the process ends, however it ends.

    Raises `JournalError` for a file that is no journal, which is left as it is, for a journal of another version, and
    for that of a run with other options. All methods may be called from any thread. A new journal
    can be read by its owner alone, as it holds summaries and replies.
    """

    def __init__(self, path: str | os.PathLike[str], run_digest: str | None = None) -> None:
        self.path = path = Path(path)
        self._lock = threading.RLock()
        self._in_transaction = False
        self._owner = f"{os.getpid()}-{os.urandom(4).hex()}"
        self._owned: BinaryIO | None = None
        try:
            if not path.exists():
                # SQLite would let the umask decide who reads the summaries.
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=60)
        except (OSError, sqlite3.Error) as error:
            raise JournalError(f"{path} cannot be opened as a journal: {error}") from error
        try:
            self._prepare(run_digest)
        except BaseException:
            self._database.close()
            raise

    def _prepare(self, run_digest: str | None) -> None:
        try:
            _refuse_foreign(self._database, self.path)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(_TABLES)
            with self._transaction():
                told = {"version": str(VERSION)} if run_digest is None else {"version": str(VERSION), "run": run_digest}
                self._database.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", told.items())
                known = dict(self._database.execute("SELECT key, value FROM meta"))
        except sqlite3.DatabaseError as error:
            raise _unprepared(self.path, error) from error
        if known.get("version") != str(VERSION):
            text = f"{self.path} is of version {known.get('version')} of the journal; this is {VERSION}"
            raise JournalError(text, stale=True)
        if run_digest is not None and known.get("run") != run_digest:
            text = f"{self.path} is the journal of a run with other options or another version of turnfold"
            raise JournalError(f"{text}: begin anew, or give those of the first run", stale=True)

    def __enter__(self) -> Self:
        self._owned = _held(self._lock_path(self._owner))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self._lock, contextlib.closing(self._database), contextlib.suppress(sqlite3.Error):
                self._database.execute("UPDATE files SET owner = NULL WHERE owner = ?", (self._owner,))
                self._database.execute("DELETE FROM items WHERE owner = ? AND outcome IS NULL", (self._owner,))
        finally:
            if self._owned is not None:
                with contextlib.suppress(OSError):
                    self._lock_path(self._owner).unlink()
                self._owned.close()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Make one transaction of all that is said inside: it is kept as a whole, or not at all."""
        with self._transaction():
            yield

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            inner, self._in_transaction = self._in_transaction, True
            try:
                if not inner:
                    self._database.execute("BEGIN IMMEDIATE")
                yield
                if not inner:
                    self._database.execute("COMMIT")
            except BaseException as error:
                # What was raised first is what went wrong; closed, the database forgets a transaction that is open.
                with contextlib.suppress(sqlite3.Error, MemoryError):
                    if self._database.in_transaction:
                        self._database.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise JournalError(f"{self.path} cannot be written: {error}") from error
                raise
            finally:
                self._in_transaction = inner

    def claim(self, path: str, output: str) -> JournaledFile | None:
        """Take a file for this run; None where another run that lives has it."""
        with self._transaction():
            self._database.execute("INSERT OR IGNORE INTO files (path, output) VALUES (?, ?)", (path, output))
            row = self._database.execute(_FILE, (output,)).fetchone()
            *known, owner = row
            if owner is not None and owner != self._owner and self._lives(owner):
                return None
            self._database.execute("UPDATE files SET owner = ?, path = ? WHERE id = ?", (self._owner, path, known[0]))
        return JournaledFile(*known)

    def claim_item(self, key: bytes) -> ItemClaim:
        """Take an item for this run, unless it is done or another run that lives has it."""
        if self._owned is None:
            raise JournalError(f"{self.path} is not open: use the journal in a with statement")
        with self._transaction():
            taken = "INSERT OR IGNORE INTO items (key, owner) VALUES (?, ?)"
            if self._database.execute(taken, (key, self._owner)).rowcount:
                return ItemClaim(mine=True)
            owner, outcome = self._database.execute("SELECT owner, outcome FROM items WHERE key = ?", (key,)).fetchone()
            if outcome is not None:
                return ItemClaim(mine=False, outcome=bytes(outcome))
            if owner != self._owner and self._lives(owner):
                return ItemClaim(mine=False)
            self._database.execute("UPDATE items SET owner = ? WHERE key = ?", (self._owner, key))
        return ItemClaim(mine=True)

    def finish_item(self, key: bytes, outcome: bytes) -> None:
        """Say that an item is done; the first outcome stays."""
        with self._transaction():
            # Of two equal items of one run, the one that failed may have taken the row away.
            self._database.execute(
                "INSERT INTO items (key, owner, outcome) VALUES (?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET outcome = excluded.outcome WHERE outcome IS NULL",
                (key, self._owner, outcome),
            )

    def release_item(self, key: bytes) -> None:
        """Let go of an item that is not done."""
        with self._transaction():
            released = "DELETE FROM items WHERE key = ? AND owner = ? AND outcome IS NULL"
            self._database.execute(released, (key, self._owner))

    def _lock_path(self, owner: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{owner}.lock")

    def _lives(self, owner: str) -> bool:
        return _is_held(self._lock_path(owner))

    def begin(self, file: JournaledFile, input_size: int | None, input_mtime_ns: int | None) -> JournaledFile:
        """Forget what was done of a file, whose input is now that large and of that time."""
        with self._transaction():
            self._database.execute("DELETE FROM documents WHERE file = ?", (file.id,))
            self._database.execute(
                "UPDATE files SET state = 'open', documents = 0, output_size = 0, input_size = ?, input_mtime_ns = ? "
                "WHERE id = ?",
                (input_size, input_mtime_ns, file.id),
            )
        return JournaledFile(file.id, "open", 0, 0, input_size, input_mtime_ns)

    def checkpoint(self, file: JournaledFile, documents: Sequence[JournaledDocument], output_size: int) -> None:
        """Say that the next documents are done, and that the part file holds all up to here in `output_size` bytes."""
        if documents:
            with self._transaction():
                self._checkpoint(file, documents, output_size)

    def _checkpoint(self, file: JournaledFile, documents: Sequence[JournaledDocument], output_size: int) -> None:
        rows = [(file.id, document.number, document.key, document.records) for document in documents]
        self._database.executemany("INSERT INTO documents VALUES (?, ?, ?, ?)", rows)
        self._database.execute(
            "UPDATE files SET documents = ?, output_size = ? WHERE id = ?",
            (documents[-1].number + 1, output_size, file.id),
        )

    def set_state(self, file: JournaledFile, state: FileState, output_size: int) -> None:
        """Say how far the file itself has come."""
        with self._transaction():
            self._database.execute(
                "UPDATE files SET state = ?, output_size = ? WHERE id = ?", (state, output_size, file.id)
            )

    def keys(self, file: JournaledFile) -> Iterator[bytes]:
        """The digests of the documents that are done, in order."""
        for document in self.documents(file):
            yield document.key

    def documents(self, file: JournaledFile) -> Iterator[JournaledDocument]:
        """The documents of a file that are done, in order, some at a time."""
        return self._documents(file.id)

    def all_records(self) -> Iterator[bytes]:
        """What was reported of each document that is done, in all files, some at a time."""
        with self._lock:
            files = self._database.execute("SELECT id FROM files ORDER BY id").fetchall()
        for (file,) in files:
            for document in self._documents(file):
                yield document.records

    def _documents(self, file: int) -> Iterator[JournaledDocument]:
        after = -1
        while True:
            with self._lock:
                rows = self._database.execute(
                    "SELECT number, key, records FROM documents WHERE file = ? AND number > ? "
                    "ORDER BY number LIMIT 500",
                    (file, after),
                ).fetchall()
            if not rows:
                return
            yield from (JournaledDocument(*row) for row in rows)
            after = rows[-1][0]

    def reply(self, key: bytes) -> bytes | None:
        """The reply to a summarizer's request of that digest, if there was one."""
        with self._lock:
            row = self._database.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def remember(self, key: bytes, reply: bytes) -> None:
        """Keep the reply to a request; the first one stays."""
        with self._transaction():
            self._database.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, reply))


def _is_held(path: Path) -> bool:
    """Whether the process that made a lock file lives; the file of one that does not is removed."""
    try:
        held = _held(path)
    except OSError:
        return True
    held.close()
    with contextlib.suppress(OSError):
        path.unlink()
    return False


def _held(path: Path) -> BinaryIO:
    """Lock a file for as long as it stays open. Raises OSError where another process holds it."""
    stream = path.open("ab")
    try:
        if sys.platform == "win32":
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        stream.close()
        raise
    return stream
