"""Which recordings are held: those of the areas in must_pass.txt, but for the known differences."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.servers import recordings


def _lines(name: str) -> list[str]:
    text = Path(__file__).with_name(name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


AREAS, DIFFERENT = _lines("must_pass.txt"), _lines("known_differences.txt")
HELD = [recording for recording in recordings(AREAS) if recording.name not in DIFFERENT]
