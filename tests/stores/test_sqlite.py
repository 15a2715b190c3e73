"""The store in a file: killed, shared, damaged, foreign."""

import os
import random
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import msgspec
import pytest

from turnfold.errors import CorruptStoreError, NewerStoreError, StoreConflictError, StoreUnavailableError
from turnfold.model.state import NO_STATE
from turnfold.model.stored import StoredSummary
from turnfold.stores import SQLiteStore
from turnfold.stores.sqlite import APPLICATION_ID, SCHEMA_VERSION

pytestmark = pytest.mark.anyio

COMMITS_FOR_EVER = """
import sys, anyio, msgspec
from turnfold.errors import StoreConflictError
from turnfold.model.stored import StoredSummary
from turnfold.stores import SQLiteStore

async def main(path, record, most):
    store = SQLiteStore(path)
    summary = msgspec.json.decode(record, type=StoredSummary)
    done = 0
    while done < int(most):
        lease = await store.begin("c")
        if lease is None:
            await anyio.lowlevel.checkpoint()
            continue
        print(await store.commit(lease, summary), flush=True)
        done += 1

anyio.run(main, *sys.argv[1:])
"""
DIES_IN_COMMIT = """
import os, sys, signal, anyio, msgspec
from turnfold.model.stored import StoredSummary
from turnfold.stores import SQLiteStore

class Dying(SQLiteStore):
    dying = False
    def _before_commit(self):
        if self.dying:
            os.kill(os.getpid(), signal.SIGKILL)

async def main(path, record):
    store = Dying(path)
    lease = await store.begin("c")
    store.dying = True
    await store.commit(lease, msgspec.json.decode(record, type=StoredSummary))

anyio.run(main, *sys.argv[1:])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def begin(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def consistent(path: Path) -> int:
    """The number of versions: all there, all readable."""
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    store = SQLiteStore(path)
    session = await store.load("c")
    await store.aclose()
    assert [one.version for one in session.summaries] == list(range(1, session.version + 1))
    return session.version


async def test_killed_at_any_moment_it_has_all_that_was_committed(path: Path, summary: StoredSummary) -> None:
    record = msgspec.json.encode(summary).decode()
    chance = random.Random(7)
    committed = 0
    for _ in range(3):
        child = begin(COMMITS_FOR_EVER, path, record, 10**9)
        assert child.stdout is not None
        for _ in range(chance.randrange(1, 40)):
            committed = int(child.stdout.readline())
        child.kill()
        # Not by `communicate`: it passes over lines that came with one that was read.
        said = child.stdout.read()
        child.communicate()
        committed = int(said.split()[-1]) if said else committed
        # One more than it said: killed after a commit and before it could say so.
        assert committed <= await consistent(path) <= committed + 1
    store = SQLiteStore(path)
    await store.settle()
    assert await store.begin("c") is not None, "what the killed process left is settled"
    await store.aclose()


async def test_killed_within_a_commit_nothing_of_it_is_there(path: Path, summary: StoredSummary) -> None:
    child = begin(DIES_IN_COMMIT, path, msgspec.json.encode(summary).decode())
    child.communicate()
    assert child.returncode == -9
    assert await consistent(path) == 0
    store = SQLiteStore(path)
    assert await store.settle() == ("c",)
    await store.aclose()


async def test_two_processes_share_a_file(path: Path, summary: StoredSummary) -> None:
    record = msgspec.json.encode(summary).decode()
    children = [begin(COMMITS_FOR_EVER, path, record, 40) for _ in range(2)]
    said = [child.communicate() for child in children]
    assert [child.returncode for child in children] == [0, 0], said
    versions = [[int(line) for line in out.split()] for out, _ in said]
    assert sorted(versions[0] + versions[1]) == list(range(1, 81))
    assert await consistent(path) == 80


@pytest.mark.parametrize("ending", [KeyboardInterrupt, MemoryError, "cancelled"])
async def test_broken_off_within_a_commit_nothing_of_it_is_there(
    path: Path, summary: StoredSummary, ending: Any
) -> None:
    scope = anyio.CancelScope()

    class Breaking(SQLiteStore):
        breaking = False

        def _before_commit(self) -> None:
            if self.breaking and ending == "cancelled":
                anyio.from_thread.run_sync(scope.cancel)
            elif self.breaking:
                raise ending
            super()._before_commit()

    store = Breaking(path)
    lease = await store.begin("c")
    assert lease is not None
    store.breaking = True
    through = False
    with pytest.raises(ending) if ending != "cancelled" else scope:
        await store.commit(lease, summary)
        through = True
    assert not through
    store.breaking = False
    assert await consistent(path) == 0
    assert await store.commit(lease, summary) == 1, "the same lease is still good"
    await store.aclose()


@pytest.mark.parametrize("fails", ["BEGIN IMMEDIATE", "ROLLBACK", "COMMIT"])
@pytest.mark.parametrize("error", [sqlite3.OperationalError, MemoryError])
async def test_a_statement_that_fails_leaves_no_transaction_open(
    path: Path, summary: StoredSummary, fails: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a disk does that is full for a moment: what was to be done is done or not, and the next call works."""
    failing: list[str] = []

    class Failing(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            if sql == "ROLLBACK" and sql in failing:
                raise error("no")
            done = super().execute(sql, parameters)
            if sql in failing or ("ROLLBACK" in failing and sql.startswith("INSERT INTO summaries")):
                done.close()
                raise error("no")
            return done

    usual = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **options: usual(*given, factory=Failing, **options))
    store = SQLiteStore(path, wait_seconds=0)
    lease = await store.begin("c")
    assert lease is not None
    failing.append(fails)
    with pytest.raises((StoreUnavailableError, MemoryError)):
        await store.commit(lease, summary)
    failing.clear()
    other = SQLiteStore(path, wait_seconds=0)
    await other.save_state("d", NO_STATE)
    if fails == "COMMIT":
        assert await consistent(path) == 1
    else:
        assert await store.commit(lease, summary) == 1
    await store.aclose()
    await other.aclose()


async def test_cancelled_after_the_commit_it_says_what_it_did(path: Path, summary: StoredSummary) -> None:
    scope = anyio.CancelScope()

    class Late(SQLiteStore):
        def _add(self, *arguments: Any) -> tuple[bool, int]:
            done = super()._add(*arguments)
            anyio.from_thread.run_sync(scope.cancel)
            return done

    store = Late(path)
    lease = await store.begin("c")
    assert lease is not None
    version = 0
    with scope:
        version = await store.commit(lease, summary)
    assert version == await consistent(path) == 1
    await store.aclose()


def write(path: Path, *statements: str) -> bytes:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path.read_bytes()


async def refused(path: Path, error: type[Exception], match: str) -> None:
    before = path.read_bytes()
    store = SQLiteStore(path)
    for call in (lambda: store.load("c"), lambda: store.begin("c"), store.settle, lambda: store.delete("c")):
        with pytest.raises(error, match=match):
            await call()
    await store.aclose()
    assert path.read_bytes() == before
    assert sorted(child.name for child in path.parent.iterdir()) == [path.name]


async def test_a_newer_schema_is_left_as_it_is(path: Path) -> None:
    write(path, f"PRAGMA application_id = {APPLICATION_ID}", f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    await refused(path, NewerStoreError, "update turnfold")


async def test_a_file_of_another_program_is_left_as_it_is(path: Path) -> None:
    write(path, "CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('dear diary')")
    await refused(path, CorruptStoreError, "another program")


async def test_what_is_no_database_is_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"dear diary, " * 999)
    await refused(path, CorruptStoreError, "no SQLite database")


async def test_a_damaged_file_is_left_as_it_is(path: Path, summary: StoredSummary) -> None:
    store = SQLiteStore(path)
    for _ in range(30):
        lease = await store.begin("c")
        assert lease is not None
        await store.commit(lease, summary)
    await store.aclose()
    whole = path.read_bytes()
    for size in (2_000, 5_000, len(whole) - 4_096):
        path.write_bytes(whole[:size])
        damaged = SQLiteStore(path)
        with pytest.raises(CorruptStoreError):
            await damaged.load("c")
        await damaged.aclose()
        assert path.read_bytes() == whole[:size]


async def test_a_record_that_cannot_be_read_is_named(path: Path, summary: StoredSummary) -> None:
    store = SQLiteStore(path)
    for name in ("c", "d"):
        lease = await store.begin(name)
        assert lease is not None
        await store.commit(lease, summary)
    await store.aclose()
    write(path, "UPDATE summaries SET record = x'7b7d' WHERE conversation = 'c'")
    with pytest.raises(CorruptStoreError, match="conversation 'c'"):
        await store.load("c")
    assert (await store.load("d")).version == 1
    await store.aclose()


async def test_a_missing_folder_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "store.db", tmp_path):
        with pytest.raises(StoreUnavailableError, match=str(path)):
            await SQLiteStore(path).load("c")


async def test_a_file_that_somebody_locks_is_waited_for_and_then_named(path: Path) -> None:
    store = SQLiteStore(path, wait_seconds=0.1)
    await store.load("c")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert (await store.load("c")).version == 0, "readers do not wait for writers"
    with pytest.raises(StoreUnavailableError, match="locked"):
        await store.begin("c")
    other.execute("ROLLBACK")
    assert await store.begin("c") is not None
    other.close()
    await store.aclose()


async def test_a_file_that_was_replaced_is_opened_anew(path: Path, summary: StoredSummary) -> None:
    store = SQLiteStore(path)
    lease = await store.begin("c")
    assert lease is not None
    for name in (path, *path.parent.glob("store.db-*")):
        name.unlink()
    with pytest.raises(StoreConflictError):
        await store.commit(lease, summary)
    assert await consistent(path) == 0
    await store.aclose()


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
async def test_only_the_owner_reads_a_new_file(path: Path) -> None:
    store = SQLiteStore(path)
    await store.load("c")
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    await store.aclose()


def test_each_event_loop_may_use_the_same_store(path: Path, summary: StoredSummary) -> None:
    store = SQLiteStore(path)

    async def once() -> int:
        lease = await store.begin("c")
        assert lease is not None
        return await store.commit(lease, summary)

    assert [anyio.run(once, backend=backend) for backend in ("asyncio", "trio", "asyncio")] == [1, 2, 3]
    store._close()


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (sqlite3.SQLITE_FULL, "make room on its disk"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, "the file and its folder must be writable"),
        (sqlite3.SQLITE_IOERR_WRITE, "whether its disk is well"),
        (sqlite3.SQLITE_CANTOPEN, "a file which can be read and written"),
    ],
)
async def test_what_the_disk_says_is_followed_by_what_to_do(
    path: Path, code: int, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: Any, **options: Any) -> sqlite3.Connection:
        error = sqlite3.OperationalError("no")
        error.sqlite_errorcode = code
        raise error

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with pytest.raises(StoreUnavailableError, match=f"store.db: no; .*{advice}"):
        await SQLiteStore(path).load("c")


async def test_a_folder_that_is_missing_is_to_be_made(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="No such file or directory; make its folder, or name another file"):
        await SQLiteStore(tmp_path / "none" / "store.db").load("c")
