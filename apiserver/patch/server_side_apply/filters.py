"""What counts for ownership on an endpoint. The rest its rules reset, so nobody comes to own it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiserver.patch.server_side_apply.comparison import Comparison
from apiserver.patch.server_side_apply.field_sets import MEMBER, SELF, FieldSet, is_member, recursive_difference

ANY_STEP = "*"

# A trie like a FieldSet, whose steps may be ANY_STEP and whose ends are None: all that lies below.
Pattern = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Exclude:
    """Everything but some fields and all in them."""

    ignored: FieldSet

    def comparison(self, found: Comparison) -> Comparison:
        return found.without(self.ignored) if self.ignored and found else found

    def fields(self, fields: FieldSet) -> FieldSet:
        return recursive_difference(fields, self.ignored) if self.ignored else fields


@dataclass(frozen=True, slots=True)
class Include:
    """Nothing but the fields of a pattern."""

    pattern: Pattern

    def comparison(self, found: Comparison) -> Comparison:
        return Comparison(self.fields(found.changed), self.fields(found.removed))

    def fields(self, fields: FieldSet) -> FieldSet:
        return _matching(fields, self.pattern)


EVERYTHING = Exclude({})


def _matching(fields: FieldSet, pattern: Pattern) -> FieldSet:
    found: FieldSet = {}
    for step, branch in fields.items():
        name = ANY_STEP if ANY_STEP in pattern else step
        if step == SELF or name not in pattern:
            continue
        below = pattern[name]
        if below is None:
            found[step] = branch
            continue
        deeper = _matching(branch, below)
        if is_member(branch):
            found[step] = {SELF: MEMBER, **deeper} if deeper else MEMBER
        elif deeper:
            found[step] = deeper
    return found
