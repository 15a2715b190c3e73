"""SQLite connections at whose every statement something may go wrong, and pictures of the file as a crash leaves it."""

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

_ERRORS: Final[tuple[tuple[type[sqlite3.Error], str, int], ...]] = (
    (sqlite3.OperationalError, "disk I/O error", sqlite3.SQLITE_IOERR),
    (sqlite3.OperationalError, "database or disk is full", sqlite3.SQLITE_FULL),
    (sqlite3.OperationalError, "database is locked", sqlite3.SQLITE_BUSY),
    (sqlite3.OperationalError, "attempt to write a readonly database", sqlite3.SQLITE_READONLY),
    (sqlite3.DatabaseError, "database disk image is malformed", sqlite3.SQLITE_CORRUPT),
)


@dataclass(slots=True)
class SQLiteFaults:
    """What goes wrong at statements, commits among them: an error before or after a `share` of them, and a crash.

    At statement number `crash_at` the file is copied to `crashed`, its log with a torn end where a commit was being
    written, and `on_crash` is called. What had been committed before is whole in it.
    """

    path: Path
    crashed: Path
    chance: random.Random
    share: float
    crash_at: int | None
    on_crash: Callable[[], object] = lambda: None
    statements: int = 0
    failed: int = 0
    quiet: bool = False

    def before(self) -> None:
        """Maybe fail instead of doing a statement."""
        self._fail()

    def after(self, statement: str, log_bytes: int) -> None:
        """Maybe crash, or fail although it was done; `log_bytes` is how long the log was before."""
        if not self.quiet and self.statements == self.crash_at:
            self._crash(log_bytes if statement == "COMMIT" else None)
        self.statements += 1
        self._fail()

    def log_bytes(self) -> int:
        """How long the write-ahead log is."""
        log = _log(self.path)
        return log.stat().st_size if log.exists() else 0

    def _fail(self) -> None:
        if not self.quiet and self.chance.random() < self.share:
            self.failed += 1
            if self.chance.random() < 0.1:
                raise MemoryError
            kind, text, code = self.chance.choice(_ERRORS)
            error = kind(text)
            error.sqlite_errorcode = code
            raise error

    def _crash(self, durable: int | None) -> None:
        shutil.copyfile(self.path, self.crashed)
        log = _log(self.path)
        if log.exists():
            written = log.read_bytes()
            if durable is not None and durable < len(written):
                written = written[: self.chance.randint(durable, len(written))]
            _log(self.crashed).write_bytes(written)
        self.on_crash()


@contextmanager
def faulty_sqlite(faults: SQLiteFaults) -> Iterator[None]:
    """Make connections to SQLite that are opened inside do what `faults` says."""
    usual = sqlite3.connect

    class Faulty(sqlite3.Connection):
        def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> sqlite3.Cursor:  # type: ignore[override]
            return self._done(sql, lambda: super(Faulty, self).execute(sql, parameters))

        def executemany(self, sql: str, rows: Any, /) -> sqlite3.Cursor:
            return self._done(sql, lambda: super(Faulty, self).executemany(sql, rows))

        def _done(self, sql: str, do: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
            faults.before()
            log_bytes = faults.log_bytes()
            cursor = do()
            try:
                faults.after(sql, log_bytes)
            except BaseException:
                # The traceback would keep it open, and with it the lock.
                cursor.close()
                raise
            return cursor

    sqlite3.connect = partial(usual, factory=Faulty)  # type: ignore[assignment]
    try:
        yield
    finally:
        sqlite3.connect = usual


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
