"""What the writer of a new object comes to own: everything in it, less what Go writes of an empty one.

Clients send objects in few forms: a million events differ in their texts and times, which ownership does not look at.
So what is owned is worked out once a form and remembered; taking a form is several times cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apiserver.patch.server_side_apply.comparison import compare
from apiserver.patch.server_side_apply.field_sets import FieldSet
from apiserver.patch.server_side_apply.shapes import LIST, Shape, Unnamed
from apiserver.patch.server_side_apply.tracking import Filter, Object, stripped

# Of one kind. A form names the keys of list items, among them the owners of pods, and those of maps. Full: all are
# forgotten and worked out again.
_MAX_FORMS = 500

_STEP = "step"  # marks names that are steps, so that they are equal to no others
_PLAIN_KEYS = frozenset((str, int))


class Creation:
    """Of the objects of one kind in one version."""

    def __init__(self, shape: Shape, blank: Object, counts: Filter) -> None:
        """`blank`: what Go writes of an object in which nothing is set; `counts`: what the endpoint lets through."""
        self._shape, self._blank, self._counts = shape, blank, counts
        self._form_of = _Former(shape, blank).form
        self._known: dict[Any, FieldSet] = {}

    def owned(self, obj: Object) -> FieldSet:
        """The fields of a new object that its writer owns. Raises Unnamed. Shared by objects of one form."""
        try:
            form = self._form_of(obj)
        except Unnamed:  # perhaps in the second of two items of one name, which ownership does not look into
            return self._worked_out(obj)
        owned = self._known.get(form)
        if owned is None:
            if len(self._known) >= _MAX_FORMS:
                self._known.clear()
            owned = self._known[form] = self._worked_out(obj)
        return owned

    def _worked_out(self, obj: Object) -> FieldSet:
        found = self._counts.comparison(compare(self._shape, self._blank, obj))
        return stripped(self._counts.fields(found.changed))


class _Plan:
    """Which parts of an object with certain keys have a form of their own. Each is equal to itself alone."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[tuple[str, Callable[[Any], Any]]]) -> None:
        self.parts = parts


class _Former:
    """Takes the form of the values of one shape: hashable, and the same for all values that are owned alike.

    Costs a look at each object and list in the value, not at its scalars: what depends on the keys of an object is
    planned when the first one with such keys comes by. Full plans (of a map whose keys are all different) are
    forgotten; the forms made by them are then not met again.
    """

    __slots__ = ("_blank", "_inner", "_is_list", "_plans", "_shape")

    def __init__(self, shape: Shape, blank: Any = None) -> None:
        self._shape = shape
        self._blank: Mapping[str, Any] = blank if isinstance(blank, dict) else {}
        self._is_list = shape.form == LIST
        self._inner: dict[str, _Former] = {}  # of the named fields; of all other keys and of items under ""
        self._plans: dict[tuple[str, ...], _Plan] = {}

    def form(self, value: Any) -> Any:
        kind = type(value)
        if kind is dict and value and not self._is_list:
            keys = tuple(value)
            plan = self._plans.get(keys) or self._planned(keys)
            return (plan, *[form(value[key]) for key, form in plan.parts]) if plan.parts else plan
        if kind is list and value and self._is_list:
            return self._form_of_list(value)
        return kind

    def _form_of_list(self, items: Sequence[Any]) -> Any:
        if self._shape.items.is_leaf:
            return tuple([self._name(item) for item in items])
        form = self._former("", self._shape.items).form
        return tuple([(self._name(item), form(item)) for item in items])

    def _name(self, item: Any) -> Any:
        """What tells an item from others, as its step does. Raises Unnamed."""
        if (names := self._shape.keys) and type(item) is dict:
            keys = tuple([item.get(name) for name in names])
            if _PLAIN_KEYS.issuperset(map(type, keys)):
                return keys
        return _STEP, self._shape.step(item)

    def _planned(self, keys: tuple[str, ...]) -> _Plan:
        if len(self._plans) >= _MAX_FORMS:
            self._plans.clear()
        parts: list[tuple[str, Callable[[Any], Any]]] = []
        for key in keys:
            inner = self._shape.field(key)
            if inner is not None and (form := self._part(key, inner)) is not None:
                parts.append((key, form))
        plan = self._plans[keys] = _Plan(parts)
        return plan

    def _part(self, key: str, inner: Shape) -> Callable[[Any], Any] | None:
        """None where the key says it all: it is there, and owned whole."""
        if not inner.is_leaf:
            return self._former(key if key in self._shape.fields else "", inner).form
        if key not in self._blank:
            return None
        blank = self._blank[key]
        return lambda value: value == blank

    def _former(self, key: str, inner: Shape) -> _Former:
        if key not in self._inner:
            self._inner[key] = _Former(inner, self._blank.get(key))
        return self._inner[key]
