"""What a Stage asks of an object: jq expressions, and CEL expressions over `self`.

    .status.phase   .metadata.labels["a.b/c"]   .spec.containers[0].name   .metadata.ownerReferences.[].kind
    .status.conditions.[] | select( .type == "Ready" ) | .status

Expressions like these, which is all that kwok's own stages are made of, are evaluated here, in some microseconds. The
rest of jq is the library's, which takes half a millisecond or more; it is loaded with the first expression that needs
it, and evaluates in a process of its own (jq_process.py). As in kwok an expression that fails finds nothing, and null
is nothing; so does one that once took too long, and is not tried again.
"""

from __future__ import annotations

import atexit
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
import structlog

from kubelet_sim.stages.jq_process import JqProcess

log = structlog.get_logger(__name__)

_STEP = re.compile(
    r"""\.?\[\s*(?P<quoted>"(?:[^"\\]|\\.)*")\s*\]|\.(?P<text>"(?:[^"\\]|\\.)*")"""
    r"""|\.?\[\s*(?P<number>-?\d+)\s*\]|\.?(?P<each>\[\s*\])|\.(?P<name>[A-Za-z_]\w*)"""
)
_SELECT = re.compile(
    r"""select\s*\(\s*(?P<path>\.[^=!|()]*?)\s*(?P<sign>==|!=)\s*(?P<value>"(?:[^"\\]|\\.)*"|-?\d+|true|false|null)\s*\)"""
)
_MARKS = ("labels", "annotations")
# The environment of this process is nobody's business.
_PRELUDE = "def env: {}; {} as $ENV | ("

# One for all expressions: it keeps nothing between two questions.
_jq = JqProcess()
atexit.register(_jq.close)

Step = Callable[[Any], Iterator[Any]]


class StageError(ValueError):
    """A Stage that cannot be understood, or played; the text says what, and where."""


class Query(Protocol):
    """`is_about_marks`: whether it leads to the labels or annotations of an object and to nothing else."""

    @property
    def is_about_marks(self) -> bool: ...

    def find(self, obj: Any) -> Sequence[Any]:
        """What is found in an object."""
        ...


class _Failed(Exception):
    """jq would end with an error here."""


@dataclass(frozen=True, slots=True)
class _Path:
    steps: Sequence[Step]
    is_about_marks: bool

    def find(self, obj: Any) -> Sequence[Any]:
        found = [obj]
        try:
            for step in self.steps:
                found = [one for value in found for one in step(value)]
        except _Failed:
            return ()
        return [value for value in found if value is not None]


@dataclass(slots=True)
class _Program:
    """An expression that jq evaluates."""

    shown: str
    program: str
    is_about_marks: bool = False
    is_endless: bool = False

    def find(self, obj: Any) -> Sequence[Any]:
        if self.is_endless:
            return ()
        found = _jq.find(self.program, orjson.dumps(obj).decode())
        if found is None:
            self.is_endless = True
            log.warning("a jq expression takes too long or too much memory, it finds nothing", expression=self.shown)
            return ()
        return [value for value in found if value is not None]


@dataclass(frozen=True, slots=True)
class Cel:
    """A CEL expression over `self`."""

    program: Any

    def value(self, obj: Any) -> Any:
        """None where it fails."""
        from kubeloop.cel.values import EvaluationError

        try:
            return self.program.evaluate({"self": obj})
        except EvaluationError:
            return None


def jq(text: str) -> Query:
    """Raises StageError."""
    return _path(text) or _program(text)


def cel(text: str) -> Cel:
    """Raises StageError."""
    from kubeloop.cel.environment import Environment  # loaded where an expression is at hand: docs/adr/0003
    from kubeloop.cel.syntax import CompileError
    from kubeloop.cel.types import DYN

    try:
        return Cel(Environment({"self": DYN}).compile(text))
    except CompileError as error:
        raise StageError(f"{text!r} is no CEL expression: {error}") from error


def _program(text: str) -> Query:
    import jq as library  # 20 ms, and only for expressions that are no plain paths

    try:
        library.compile(program := f"{_PRELUDE}{text}\n)")
    except ValueError as error:
        raise StageError(f"{text!r} is no jq expression: {_first_line(str(error))}") from error
    return _Program(text, program)


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "it cannot be compiled"


def _path(text: str) -> _Path | None:
    """None where the text is more than paths and selections by a value."""
    steps: list[Step] = []
    names: list[str] = []
    for part in re.split(r"\|(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", text):
        part = part.strip()
        selection = _SELECT.fullmatch(part)
        if selection is not None:
            inner = _path(selection["path"])
            if inner is None:
                return None
            steps.append(_select(inner.steps, selection["sign"] == "==", json.loads(selection["value"])))
            continue
        taken = _steps(part, names)
        if taken is None:
            return None
        steps += taken
    return _Path(steps, len(names) > 1 and names[0] == "metadata" and names[1] in _MARKS)


def _steps(text: str, names: list[str]) -> list[Step] | None:
    if text == ".":
        return []
    steps: list[Step] = []
    rest = text
    if not rest.startswith("."):
        return None
    while rest:
        match = _STEP.match(rest)
        if match is None:
            return None
        if match["each"]:
            steps.append(_each)
        elif match["number"]:
            steps.append(_item(int(match["number"])))
        else:
            quoted = match["quoted"] or match["text"]
            name = json.loads(quoted) if quoted else match["name"]
            names.append(name)
            steps.append(_field(name))
        rest = rest[match.end() :]
    return steps


def _field(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, Mapping):
            yield value.get(name)
        elif value is None:
            yield None
        else:
            raise _Failed

    return step


def _item(number: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield value[number] if -len(value) <= number < len(value) else None
        elif value is None:
            yield None
        else:
            raise _Failed

    return step


def _each(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
    else:
        raise _Failed


def _select(steps: Sequence[Step], is_equal: bool, wanted: Any) -> Step:
    def step(value: Any) -> Iterator[Any]:
        found = [value]
        for one in steps:
            found = [part for each in found for part in one(each)]
        for part in found:
            if (part == wanted and isinstance(part, bool) == isinstance(wanted, bool)) == is_equal:
                yield value

    return step
