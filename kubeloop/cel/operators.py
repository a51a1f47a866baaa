"""Operators and hidden functions as declarations, for the checker: the compiler evaluates most of them itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeloop.cel.functions import Overload, overload

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_INDEXED = ("(list(A), int)", "(map(A, B), A)", "(optional(list(A)), int)", "(optional(map(A, B)), A)")

OPERATORS: Mapping[str, Sequence[Overload]] = {
    name: [overload(signature) for signature in signatures]
    for name, signatures in {
        "_==_": ("(A, A) bool",),
        "_!=_": ("(A, A) bool",),
        "_?_:_": ("(bool, A, A) A",),
        "@in": ("(A, list(A)) bool", "(A, map(A, B)) bool"),
        "_[_]": tuple(
            f"{operands} {result}"
            for operands, result in zip(_INDEXED, ("A", "B", "optional(A)", "optional(B)"), strict=True)
        ),
        "_[?_]": tuple(
            f"{operands} optional({value})" for operands, value in zip(_INDEXED, ("A", "B", "A", "B"), strict=True)
        ),
        # What macros are made of.
        "cel.@mapInsert": ("(map(A, B), A, B) map(A, B)", "(map(A, B), map(A, B)) map(A, B)"),
        "@sortByAssociatedKeys": tuple(f"list(A).(list({kind})) list(A)" for kind in _COMPARABLE),
    }.items()
}
