"""What SQLite storage does when the process is killed, the disk is full, or the directory cannot be used."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from apiserver.storage import checkpoints, dialects
from apiserver.storage.executor import InlineExecutor
from apiserver.storage.interface import Key, StorageUnavailable, Value, Write
from apiserver.storage.sqlite import SqliteStorage
from tests.contract.storage_suite import a_key, create, delete, heartbeat, put, text_of
from tests.testkit.eventually import eventually

WRITER = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from apiserver.storage.sqlite import SqliteStorage
    from tests.contract.storage_suite import a_key, put

    async def main():
        storage = SqliteStorage(Path(sys.argv[1]))
        await storage.start()

        async def caller(i):
            for j in range(10**6):
                change = await storage.write(put(a_key(str(i)), str(j)))
                print(i, j, change.revision, flush=True)

        await asyncio.gather(*(caller(i) for i in range(8)))

    asyncio.run(main())
""")


def opened(directory: Path, test: Callable[[SqliteStorage], Awaitable[None]], max_bytes: int = 0) -> None:
    async def main() -> None:
        storage = SqliteStorage(directory, InlineExecutor(), max_bytes=max_bytes)
        await storage.start()
        try:
            await test(storage)
        finally:
            await storage.close()

    asyncio.run(main())


async def nothing(storage: SqliteStorage) -> None:
    pass


def a_large_write(name: str) -> Write:
    return Write(a_key(name), None, Value(b'"name":"' + b"x" * 20_000 + b'"}}', {}, {}))


def refusal(directory: Path) -> str:
    with pytest.raises(StorageUnavailable) as caught:
        opened(directory, nothing)
    return str(caught.value)


def test_an_acknowledged_write_survives_kill_9(tmp_path: Path) -> None:
    """A server killed in the middle of writing has, when it is opened again, everything it had answered for."""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as writer:
        assert writer.stdout is not None
        acknowledged = [writer.stdout.readline().split() for _ in range(2_000)]
        writer.send_signal(signal.SIGKILL)
        acknowledged += [line.split() for line in writer.stdout if line.endswith("\n")]

    async def test(storage: SqliteStorage) -> None:
        logged = [(c.key.name, text_of(c.current), c.revision) for c in await storage.changes_after(0, 10**6)]

        assert list(range(1, storage.head + 1)) == [revision for _, _, revision in logged]
        assert {(name, text, int(revision)) for name, text, revision in acknowledged} <= set(logged)

    opened(tmp_path, test)


def test_a_full_disk_refuses_writes_until_there_is_room(tmp_path: Path) -> None:
    """Writes then fail naming the cause, take no revision and leave no trace; deleting and compacting makes room."""

    async def test(storage: SqliteStorage) -> None:
        acknowledged: list[int] = []
        with pytest.raises(StorageUnavailable, match="database or disk is full"):
            for i in range(100):
                acknowledged.append((await storage.write(a_large_write(str(i)))).revision)
        full_at = storage.head
        refused = await asyncio.gather(
            *(storage.write(a_large_write(f"more-{i}")) for i in range(3)), return_exceptions=True
        )

        for i in range(10):
            await storage.write(delete(a_key(str(i))))
        await storage.compact(storage.head)
        after = await storage.write(a_large_write("again"))

        assert acknowledged == list(range(1, full_at + 1))
        assert [StorageUnavailable] * 3 == [type(result) for result in refused]
        assert full_at + 11 == after.revision
        kept = {str(i) for i in range(10, full_at)} | {"again"}
        assert kept == {stored.key.name for stored in (await storage.snapshot())[1]}
        await storage.close()
        await storage.start()
        assert kept == {stored.key.name for stored in (await storage.snapshot())[1]}

    opened(tmp_path, test, max_bytes=1 << 20)


def test_one_directory_serves_one_server(tmp_path: Path) -> None:
    """A second server on the same directory is refused in one line; after the first has closed, it is not."""

    async def test(storage: SqliteStorage) -> None:
        with pytest.raises(StorageUnavailable) as caught:
            await SqliteStorage(tmp_path).start()

        assert f"the data directory {tmp_path} is in use by another server" == str(caught.value)

    opened(tmp_path, test)
    opened(tmp_path, nothing)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """Data of a newer version is left alone, and the refusal says so."""
    opened(tmp_path, nothing)
    with sqlite3.connect(tmp_path / "state.db") as database:
        database.execute("UPDATE meta SET value = 99 WHERE name = 'schema'")
    database.close()

    text = refusal(tmp_path)

    assert "written by a newer version of this server (schema 99" in text
    assert "\n" not in text


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """A corrupt database is named in one line."""
    (tmp_path / "state.db").write_bytes(b"this is no database" * 1000)

    text = refusal(tmp_path)

    assert f"{tmp_path}/state.db: file is not a database (SQLITE_NOTADB)" == text


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    """Damage inside a database is named in one line too."""

    async def fill(storage: SqliteStorage) -> None:
        for i in range(200):
            await storage.write(create(a_key(str(i))))

    opened(tmp_path, fill)
    content = bytearray((tmp_path / "state.db").read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    (tmp_path / "state.db").write_bytes(content)

    text = refusal(tmp_path)

    assert "malformed" in text
    assert "\n" not in text


def test_a_path_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    """The refusal names the path and the reason."""
    (tmp_path / "file").touch()

    assert f"cannot write to the data directory {tmp_path}/file: File exists" == refusal(tmp_path / "file")


def test_a_directory_without_write_access_is_refused() -> None:
    """The refusal names the directory and the reason."""
    code = textwrap.dedent("""
        import asyncio, os, sys
        from pathlib import Path
        from apiserver.storage.interface import StorageUnavailable
        from apiserver.storage.sqlite import SqliteStorage

        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            asyncio.run(SqliteStorage(Path(sys.argv[1])).start())
        except StorageUnavailable as error:
            print(error)
    """)
    directory = Path(tempfile.mkdtemp())  # not tmp_path, which only its owner may enter
    directory.chmod(0o555)

    printed = subprocess.run(
        [sys.executable, "-c", code, str(directory)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )

    directory.rmdir()
    assert f"cannot write to the data directory {directory}: Permission denied\n" == printed.stdout


def test_room_is_given_back(tmp_path: Path) -> None:
    """After most of a large database was deleted and compacted, the file shrinks."""

    async def test(storage: SqliteStorage) -> None:
        for i in range(400):
            await storage.write(a_large_write(str(i)))
        for i in range(400):
            await storage.write(delete(a_key(str(i))))
        await storage.close()
        large = (tmp_path / "state.db").stat().st_size
        await storage.start()

        await storage.compact(storage.head)
        await storage.close()

        small = (tmp_path / "state.db").stat().st_size
        await storage.start()
        assert small < large * 0.7

    opened(tmp_path, test)


def test_a_database_held_by_another_program_is_a_passing_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a shell holds the write lock too long, writes fail and say why; afterwards they succeed."""
    monkeypatch.setattr(dialects, "_BUSY_MILLISECONDS", 10)

    async def test(storage: SqliteStorage) -> None:
        shell = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
        shell.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailable, match="database is locked"):
            await storage.write(create(a_key()))

        shell.execute("ROLLBACK")
        shell.close()

        assert 1 == (await storage.write(create(a_key()))).revision

    opened(tmp_path, test)


def rows_of(directory: Path) -> int:
    with closing(sqlite3.connect(directory / "state.db")) as database:
        (rows,) = database.execute("SELECT count(*) FROM changes").fetchone()
    return rows


def test_the_log_is_moved_into_the_database_beside_the_writers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written is in the database file itself soon, though the server goes on and no commit moved it there."""
    monkeypatch.setattr(checkpoints, "_BYTES", 1 << 20)

    async def test(storage: SqliteStorage) -> None:
        for i in range(50):
            await storage.write(a_large_write(str(i)))

        eventually(lambda: alone() > 0, "the database has rows without its log")

    def alone() -> int:
        (tmp_path / "alone").mkdir(exist_ok=True)
        (tmp_path / "alone" / "state.db").write_bytes((tmp_path / "state.db").read_bytes())
        try:
            return rows_of(tmp_path / "alone")
        except sqlite3.DatabaseError:
            return 0  # not even the tables are in it, or it was copied in the middle of a move

    opened(tmp_path, test)


def test_heartbeats_leave_no_rows(tmp_path: Path) -> None:
    """A thousand renewals of ten Leases leave two rows each in the log."""

    async def test(storage: SqliteStorage) -> None:
        for i in range(100):
            await asyncio.gather(*(storage.write(heartbeat(a_key(str(j)), str(i))) for j in range(10)))
        await storage.write(put(a_key("other"), "x"))

        assert 21 == rows_of(tmp_path)

    opened(tmp_path, test)


def test_compaction_leaves_one_row_an_object(tmp_path: Path) -> None:
    """Replaced versions go, and deleted objects go altogether."""

    async def test(storage: SqliteStorage) -> None:
        for i in range(30):
            await asyncio.gather(*(storage.write(put(a_key(str(j)), str(i))) for j in range(10)))
        for j in range(4):
            await storage.write(delete(a_key(str(j))))

        await storage.compact(storage.head)

        assert 6 == rows_of(tmp_path)

    opened(tmp_path, test)


def test_nobody_else_reads_the_database(tmp_path: Path) -> None:
    """Secrets are kept as they are, so the files belong to their owner alone."""
    storage = SqliteStorage(tmp_path, InlineExecutor())

    def modes() -> dict[str, int]:
        return {path.name: path.stat().st_mode & 0o077 for path in tmp_path.glob("state.db*")}

    async def written() -> dict[str, int]:
        await storage.start()
        await storage.write(Write(Key("secrets", "default", "a"), 0, Value(b'"name":"a"}', {}, {})))
        found = modes()
        await storage.close()
        return found

    found = asyncio.run(written())

    assert 0 < len(found)
    assert {0} == set(found.values())
