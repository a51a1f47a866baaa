"""Semantic versions in CEL. Facts: k8s.io/apiserver/pkg/cel/library/semverlib.go (v1.36), github.com/blang/semver."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Any, ClassVar

from kubeloop.apimachinery.field import go_quote
from kubeloop.cel import types
from kubeloop.cel.functions import Library, accepts, function, library
from kubeloop.cel.values import EvaluationError

_is_number = re.compile(r"[0-9]+").fullmatch
_is_identifier = re.compile(r"[0-9A-Za-z-]+").fullmatch
_MOST = 2**64 - 1


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    cel_type: ClassVar[str] = types.SEMVER.name
    numbers: tuple[int, int, int]
    before: tuple[str, ...] = ()  # of a version that comes before the one with these numbers

    @classmethod
    def parse(cls, text: str, normalize: bool = False) -> Semver:
        """Raises EvaluationError in the library's words. `normalize` forgives a `v`, missing numbers, leading zeros."""
        if normalize:
            text = _normalized(text)
        if not text:
            raise EvaluationError("Version string empty")
        parts = text.split(".", 2)
        if len(parts) != 3:
            raise EvaluationError("No Major.Minor.Patch elements found")
        patch, plus, build = parts[2].partition("+")
        patch, minus, before = patch.partition("-")
        numbers = (_number(parts[0], "major"), _number(parts[1], "minor"), _number(patch, "patch"))
        identifiers = tuple(before.split(".")) if minus else ()
        for identifier in identifiers:
            _check_identifier(identifier)
        for identifier in build.split(".") if plus else ():
            if not identifier:
                raise EvaluationError("Build meta data is empty")
            if not _is_identifier(identifier):
                raise EvaluationError(f"Invalid character(s) found in build meta data {go_quote(identifier)}")
        return cls(numbers, identifiers)

    def _key(self) -> tuple[Any, ...]:
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.before)
        return (*self.numbers, not self.before, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._key() == other._key()

    def __lt__(self, other: Semver) -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _number(text: str, what: str) -> int:
    if not _is_number(text):
        raise EvaluationError(f"Invalid character(s) found in {what} number {go_quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{what.capitalize()} number must not contain leading zeroes {go_quote(text)}")
    if int(text) > _MOST:
        raise EvaluationError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return int(text)


def _check_identifier(text: str) -> None:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if _is_number(text) and len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(text)}")
    if not _is_identifier(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {go_quote(text)}")


def _normalized(text: str) -> str:
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(sign in parts[-1] for sign in "+-"):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(len(parts), 3)])


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    bare = part.lstrip("0")
    return bare if bare[:1].isdigit() else f"0{bare}"


VERSIONS: Library = library(
    function("semver", Semver.parse, "(string) semver", "(string, bool) semver"),
    function("isSemver", accepts(Semver.parse), "(string) bool", "(string, bool) bool"),
    function("major", lambda version: version.numbers[0], "semver.() int"),
    function("minor", lambda version: version.numbers[1], "semver.() int"),
    function("patch", lambda version: version.numbers[2], "semver.() int"),
    function("compareTo", lambda a, b: (a > b) - (a < b), "semver.(semver) int"),
    function("isLessThan", lambda a, b: a < b, "semver.(semver) bool"),
    function("isGreaterThan", lambda a, b: a > b, "semver.(semver) bool"),
)
