"""The audit log's file is put aside when it is full, and old ones go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from apiserver.handlers.audit_file import AuditFile, Rotation

MEGABYTE = b"x" * (1 << 20)


class Days:
    """A clock that goes on by a day at each look."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, 2, 3, 4, 5000, UTC)

    def __call__(self) -> datetime:
        self._now += timedelta(days=1)
        return self._now


def written(folder: Path, rotation: Rotation, count: int) -> list[str]:
    """The names of the files after so many megabytes."""
    file = AuditFile(str(folder / "audit.log"), rotation, Days())
    file.open()
    for _ in range(count):
        file.write(MEGABYTE)
    file.close()
    return sorted(path.name for path in folder.iterdir())


def test_without_a_size_there_is_one_file(tmp_path: Path) -> None:
    """It is only ever added to."""
    assert ["audit.log"] == written(tmp_path, Rotation(), 3)
    assert 3 << 20 == (tmp_path / "audit.log").stat().st_size


def test_a_full_file_is_put_aside(tmp_path: Path) -> None:
    """Under the time when that happened; nothing is lost."""
    names = written(tmp_path, Rotation(max_megabytes=2), 5)

    assert ["audit-2026-01-02T02-03-04.005.log", "audit-2026-01-03T02-03-04.005.log", "audit.log"] == names
    assert 5 << 20 == sum((tmp_path / name).stat().st_size for name in names)


def test_only_so_many_are_kept_and_only_so_long(tmp_path: Path) -> None:
    """The newest ones."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    by_number = written(tmp_path / "a", Rotation(1, max_backups=2), 6)
    by_age = written(tmp_path / "b", Rotation(1, max_days=1), 6)

    expected = ["audit-2026-01-05T02-03-04.005.log", "audit-2026-01-06T02-03-04.005.log", "audit.log"]
    assert expected == by_number
    assert expected == by_age
