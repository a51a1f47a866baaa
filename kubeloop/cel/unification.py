"""Which types go together: assignability with type parameters, which are bound on the way.

Facts: github.com/google/cel-go checker/types.go (v0.26).
"""

from __future__ import annotations

from collections.abc import Sequence

from kubeloop.cel.types import DYN, ERROR, NULL, Type

_PRIMITIVES = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "type"})


class Bindings:
    """What type parameters stand for, as far as is known."""

    def __init__(self) -> None:
        self._known: dict[Type, Type] = {}
        self._count = 0

    def fresh(self) -> Type:
        """A new type parameter."""
        self._count += 1
        return Type(f"_var{self._count - 1}")

    def assign(self, to: Sequence[Type], given: Sequence[Type]) -> bool:
        """Whether values of the `given` types may stand where `to` are wanted; if so, parameters are bound."""
        before = dict(self._known)
        if len(to) == len(given) and all(self._fits(*pair) for pair in zip(to, given, strict=True)):
            return True
        self._known = before
        return False

    def filled(self, type_: Type, *, unbound: Type | None = None) -> Type:
        """The type with its parameters replaced; those nothing is known of by `unbound`, where that is given."""
        known = self._known.get(type_)
        if known is not None:
            return self.filled(known, unbound=unbound)
        if type_.is_parameter:
            return unbound or type_
        if not type_.parameters:
            return type_
        parameters = tuple(self.filled(parameter, unbound=unbound) for parameter in type_.parameters)
        return type_ if parameters == type_.parameters else type_.with_parameters(parameters)

    def _fits(self, one: Type, other: Type) -> bool:
        if other.is_parameter:
            fits, is_known = self._stands_for(one, other)
            if fits or is_known:
                return fits
        if one.is_parameter:
            return self._stands_for(other, one)[0]
        if one in _ANYTHING or other in _ANYTHING:
            return True
        if NULL in (one, other):
            return (other if one == NULL else one).name not in _PRIMITIVES
        if one.name != other.name:
            return False
        if one.name == "type":
            return True
        pairs = zip(one.parameters, other.parameters, strict=False)
        return len(one.parameters) == len(other.parameters) and all(self._fits(*pair) for pair in pairs)

    def _stands_for(self, type_: Type, parameter: Type) -> tuple[bool, bool]:
        """Whether the parameter may be the type, and whether something was known of it."""
        if type_ == parameter:
            return True, True
        known = self._known.get(parameter)
        if known is None:
            if self._occurs(parameter, type_):
                return False, False
            self._known[parameter] = type_
            return True, False
        if type_ == known:
            return True, True
        if not self._fits(type_, known):
            return False, True
        general = more_general(type_, known)
        if not self._occurs(parameter, general):
            self._known[parameter] = general
        return True, True

    def _occurs(self, parameter: Type, within: Type) -> bool:
        if within == parameter:
            return True
        if within.is_parameter:
            known = self._known.get(within)
            return known is not None and self._occurs(parameter, known)
        return any(self._occurs(parameter, part) for part in within.parameters)


_ANYTHING = (DYN, ERROR)


def more_general(one: Type, other: Type) -> Type:
    """Of two types that go together."""
    return one if _is_no_more_specific(one, other) else other


def _is_no_more_specific(one: Type, other: Type) -> bool:
    if one == DYN or one.is_parameter:
        return True
    if other == DYN or other.is_parameter or one.name != other.name:
        return False
    if one.name == "type":
        return True
    pairs = zip(one.parameters, other.parameters, strict=False)
    return len(one.parameters) == len(other.parameters) and all(_is_no_more_specific(*pair) for pair in pairs)
