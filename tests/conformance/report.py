"""`python -m tests.conformance.report [AREA…]`: how many recordings of each area pass, and what differs."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.conformance.servers import Recording, Servers, recordings, servers


def main() -> int:
    """Prints the table; the exit code is 0 only where everything passed."""
    options = _parser().parse_args()
    chosen = recordings(options.areas or None)
    problems = {}
    with servers() as playing:
        for recording, found in _play(playing, chosen, options.jobs):
            problems[recording.name] = found
            if options.show and found:
                _print_differences(recording, found)
    _print_table(chosen, problems)
    return int(any(problems.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="report", description="Play recordings and count those that pass, by area.")
    parser.add_argument("areas", nargs="*", metavar="AREA", help="only these")
    parser.add_argument("--jobs", type=int, default=4, help="how many at once (default %(default)s)")
    parser.add_argument("--show", action="store_true", help="print what differs, as it is found")
    return parser


def _play(playing: Servers, chosen: list[Recording], jobs: int) -> Iterator[tuple[Recording, list[str]]]:
    """What differs in each, as soon as it is known; the serial ones by themselves, after the others."""
    parallel = [recording for recording in chosen if not recording.serial]
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(parallel, pool.map(playing.play, parallel), strict=True)
    yield from ((recording, playing.play(recording)) for recording in chosen if recording.serial)


def _print_differences(recording: Recording, found: list[str]) -> None:
    print(f"differs: {recording.name}")
    for line in found:
        print(f"    {line}", flush=True)


def _print_table(chosen: list[Recording], problems: dict[str, list[str]]) -> None:
    every = Counter(recording.area for recording in chosen)
    passed = Counter(recording.area for recording in chosen if not problems[recording.name])
    for area in sorted(every):
        print(f"{area:28} {passed[area]:4} of {every[area]:4}")
    print(f"{'all':28} {passed.total():4} of {every.total():4}")


if __name__ == "__main__":
    raise SystemExit(main())
