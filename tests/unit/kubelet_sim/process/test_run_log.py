"""The files of a run's log: what is in them, how large they become, and how they are read while they are written."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubelet_sim.process.processes import STDERR, STDOUT
from kubelet_sim.process.run_log import MAX_FILES, MAX_LINE_BYTES, RunLog
from kubelet_sim.server.log_options import Options
from kubelet_sim.server.recorded_logs import recorded
from kubeloop.apimachinery.times import moment_after
from kubeloop.testing.virtual_time import EPOCH, LoopClock, run


def read(log: RunLog, options: Options | None = None) -> str:
    async def main() -> bytes:
        return b"".join([data async for data in recorded(log, options or Options(), LoopClock())])

    return run(main()).decode()


def a_log(folder: Path, *written: tuple[int, bytes], max_bytes: int = 1 << 20) -> RunLog:
    """One that is over; something is written every second."""

    async def main() -> RunLog:
        log = RunLog(folder, LoopClock(), max_bytes)
        log.begin()
        for stream, data in written:
            log.write(stream, data)
            await asyncio.sleep(1)
        log.end()
        return log

    return run(main())


def test_lines_have_their_time_and_their_stream(tmp_path: Path) -> None:
    """In the form of container runtimes; a line is written when it is whole, and what has no end at the end."""
    a_log(tmp_path, (STDOUT, b"on"), (STDERR, b"why\n"), (STDOUT, b"e\ntwo\n"), (STDOUT, b"rest"))

    assert [
        "2026-01-01T00:00:01.000000000Z stderr F why",
        "2026-01-01T00:00:02.000000000Z stdout F one",
        "2026-01-01T00:00:02.000000000Z stdout F two",
        "2026-01-01T00:00:04.000000000Z stdout P rest",
    ] == (tmp_path / "0.log").read_text().splitlines()


LINES = [(STDOUT, b"one\n"), (STDERR, b"two\n"), (STDOUT, b"three\nfour\n"), (STDOUT, b"rest")]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (Options(), "one\ntwo\nthree\nfour\nrest"),
        (Options(tail_lines=2), "four\nrest"),
        (Options(tail_lines=0), ""),
        (Options(tail_lines=99), "one\ntwo\nthree\nfour\nrest"),
        (Options(tail_lines=2, streams=(STDOUT,)), "four\nrest"),
        (Options(tail_lines=4, since=moment_after(EPOCH, 3)), "rest"),
        (Options(since=moment_after(EPOCH, 2)), "three\nfour\nrest"),
        (Options(limit_bytes=6), "one\ntw"),
        (Options(streams=(STDERR,)), "two\n"),
        (Options(tail_lines=1, has_timestamps=True), "2026-01-01T00:00:04.000000000Z rest"),
    ],
)
def test_what_is_asked_for_is_told(tmp_path: Path, options: Options, expected: str) -> None:
    """Lines as they were written."""
    assert expected == read(a_log(tmp_path, *LINES), options)


def test_a_long_line_is_kept_in_pieces_and_told_as_one(tmp_path: Path) -> None:
    """With one time, however it came."""
    long = b"x" * (2 * MAX_LINE_BYTES + 5)
    log = a_log(tmp_path, (STDOUT, long[:MAX_LINE_BYTES]), (STDOUT, long[MAX_LINE_BYTES:] + b"\n"), (STDERR, long))

    assert long.decode() + "\n" + long.decode() == read(log)
    assert 2 == read(log, Options(has_timestamps=True)).count("Z ")


def test_old_files_go(tmp_path: Path) -> None:
    """Of what is written without an end the last files are kept, each about as large as it may be."""
    log = a_log(tmp_path, *[(STDOUT, b"%d\n" % i) for i in range(100)], max_bytes=200)
    kept = read(log).split()

    assert MAX_FILES == len(list(tmp_path.iterdir()))
    assert [str(i) for i in range(100 - len(kept), 100)] == kept
    assert 10 < len(kept) < 50


@pytest.mark.parametrize("lines", [1, 3, 7, 20])
def test_the_end_may_be_in_several_files(tmp_path: Path, lines: int) -> None:
    """As many lines as are asked for."""
    log = a_log(tmp_path, *[(STDOUT, b"%d\n" % i) for i in range(40)], max_bytes=200)

    assert [str(i) for i in range(40 - lines, 40)] == read(log, Options(tail_lines=lines)).split()


def test_who_follows_gets_everything_across_files_until_the_end(tmp_path: Path) -> None:
    """As it is written, once, and in order."""

    async def main() -> list[str]:
        log, found = RunLog(tmp_path, LoopClock(), 200), list[str]()
        log.begin()
        log.write(STDOUT, b"before\n")

        async def follow() -> None:
            options = Options(follows=True, tail_lines=0)
            found.extend([data.decode().strip() async for data in recorded(log, options, LoopClock()) if data])

        following = asyncio.ensure_future(follow())
        for i in range(100):
            await asyncio.sleep(1)
            log.write(STDOUT, b"%d\n" % i)
        log.end()
        await following
        return found

    assert [str(i) for i in range(100)] == run(main())


def test_a_log_of_an_earlier_process_is_read(tmp_path: Path) -> None:
    """And one that was never written is empty; nobody waits for either."""
    a_log(tmp_path / "run", *LINES)

    assert "rest" == read(RunLog(tmp_path / "run", LoopClock()), Options(tail_lines=1, follows=True))
    assert "" == read(RunLog(tmp_path / "none", LoopClock()), Options(follows=True))


def test_its_end_tells_why_a_container_failed(tmp_path: Path) -> None:
    """So many lines, and so many bytes, of both streams."""
    log = a_log(tmp_path, *LINES)

    assert (b"four\nrest\n", b"rest\n", b"") == (
        log.last(2, 100),
        log.last(9, 5),
        RunLog(tmp_path / "no", LoopClock()).last(1, 1),
    )
