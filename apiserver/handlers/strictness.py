"""Field validation: what strict decoding has against a body or a patch, and how the client is told (?fieldValidation=).

Unknown fields of objects are found by the codecs; here are the problems of a patch's own text, which upstream looks
for before it is applied (apiserver/pkg/endpoints/handlers/patch.go, v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from apiserver.registry.options import IGNORE, STRICT, Warnings
from apiserver.schema.codec import DecodeError
from apiserver.schema.explanation import MAX_PROBLEMS
from apiserver.schema.json_text import duplicates, duplicates_in, has_duplicate_keys, parse_pairs
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.yaml_text import problem_lines

_OPERATION_FIELDS = frozenset({"op", "path", "from", "value"})


def report(problems: Sequence[str], field_validation: str, warnings: Warnings) -> None:
    """Refuse (DecodeError) or warn, as the client asked for; of a YAML reader's list each line is a warning."""
    if not problems or field_validation == IGNORE:
        return
    if field_validation == STRICT:
        raise DecodeError(f"strict decoding error: {', '.join(problems)}")
    warnings.add(*(line for problem in problems for line in problem_lines(problem)))


def repeated_fields(raw: bytes, value: Any) -> list[str]:
    """The problems of a JSON text, of which `value` was parsed, whose objects may name a key twice."""
    if not has_duplicate_keys(raw, value):
        return []
    return [f"duplicate field {go_quote(path)}" for path in duplicates(raw)][:MAX_PROBLEMS]


def operation_problems(raw: bytes, operations: Any) -> list[str]:
    """The problems of a JSON patch: fields that no operation has, and keys named twice."""
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        return []
    is_plain = all(_OPERATION_FIELDS.issuperset(operation) for operation in operations)
    if is_plain and not has_duplicate_keys(raw, operations):
        return []
    found = dict.fromkeys(problem for i, pairs in enumerate(parse_pairs(raw)) for problem in _of_operation(i, pairs))
    return [f"json patch {problem}" for problem in found][:MAX_PROBLEMS]


def _of_operation(position: int, pairs: Sequence[tuple[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    for key, value in pairs:
        path = f"[{position}].{key}"
        if key not in _OPERATION_FIELDS:
            yield f"unknown field {go_quote(path)}"
            continue
        if key in seen:
            yield f"duplicate field {go_quote(path)}"
        seen.add(key)
        for repeated in duplicates_in(value, path):
            yield f"duplicate field {go_quote(repeated)}"
