"""`python -m tests.conformance.report [AREA…]`: how many recordings of each area pass, and what differs."""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.conformance.servers import Recording, Servers, recordings, servers


def main() -> int:
    """Prints the table; the exit code is 0 only where everything passed."""
    options = _parser().parse_args()
    chosen = recordings(options.areas or None)
    with servers() as playing:
        problems = _play(playing, chosen, options.jobs)
    if options.show:
        _print_differences(problems)
    _print_table(chosen, problems)
    return int(any(problems.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="report", description="Play recordings and count those that pass, by area.")
    parser.add_argument("areas", nargs="*", metavar="AREA", help="only these")
    parser.add_argument("--jobs", type=int, default=4, help="how many at once (default %(default)s)")
    parser.add_argument("--show", action="store_true", help="print what differs")
    return parser


def _play(playing: Servers, chosen: list[Recording], jobs: int) -> dict[str, list[str]]:
    """What differs in each; the serial ones by themselves, after the others."""
    parallel = [recording for recording in chosen if not recording.serial]
    with ThreadPoolExecutor(jobs) as pool:
        problems = dict(zip((r.name for r in parallel), pool.map(playing.play, parallel), strict=True))
    return problems | {recording.name: playing.play(recording) for recording in chosen if recording.serial}


def _print_differences(problems: dict[str, list[str]]) -> None:
    for name, lines in problems.items():
        if lines:
            print(f"differs: {name}")
            for line in lines:
                print(f"    {line}")


def _print_table(chosen: list[Recording], problems: dict[str, list[str]]) -> None:
    every = Counter(recording.area for recording in chosen)
    passed = Counter(recording.area for recording in chosen if not problems[recording.name])
    for area in sorted(every):
        print(f"{area:28} {passed[area]:4} of {every[area]:4}")
    print(f"{'all':28} {passed.total():4} of {every.total():4}")


if __name__ == "__main__":
    raise SystemExit(main())
