"""What a list, watch or deletecollection selects: label and field selector together, checked against the kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from apiserver.registry.catalog import Kind
from apiserver.storage.interface import Stored
from kubeloop.apimachinery import field_selectors, selector_text
from kubeloop.apimachinery.errors import BadRequest
from kubeloop.apimachinery.field_selectors import FieldSelector
from kubeloop.apimachinery.selectors import Selector, SelectorError

# Clients repeat a handful of selectors for ever; parsing one costs more than a watch event.
_PARSED = 1024


@dataclass(frozen=True, slots=True)
class Selection:
    """A predicate over stored objects that parses none of them."""

    labels: Selector
    fields: FieldSelector
    # Where what selectors may ask was not stored with every object: how to find it in one.
    fields_of: Callable[[Stored], Mapping[str, str]] | None = None

    @property
    def is_everything(self) -> bool:
        return self.labels.is_empty and self.fields.is_empty

    def matches(self, stored: Stored) -> bool:
        if not self.labels.is_empty and not self.labels.matches(stored.labels):
            return False
        if self.fields.is_empty:
            return True
        key, fields = stored.key, stored.fields if self.fields_of is None else self.fields_of(stored)
        return self.fields.matches({**fields, "metadata.name": key.name, "metadata.namespace": key.namespace})

    def of(self, items: Sequence[Stored]) -> Sequence[Stored]:
        if self.is_everything:
            return items
        return [stored for stored in items if self.matches(stored)]

    @property
    def name(self) -> str:
        """The one object name that can match, or "" where the selection leaves it open."""
        return self.fields.exact_value("metadata.name") or ""


def select(kind: Kind, label_selector: str, field_selector: str) -> Selection:
    """The selection two selector texts make; BadRequest where one cannot be read or names an unknown field."""
    if not label_selector and not field_selector:
        return EVERYTHING
    try:
        labels = _labels(label_selector)
    except SelectorError as error:
        raise BadRequest(str(error)) from error
    try:
        fields = _fields(field_selector)
    except SelectorError as error:
        raise BadRequest(str(error)) from error
    supported = kind.strategy.selectable_field_names
    for name in fields.fields:
        if name not in ("metadata.name", "metadata.namespace") and name not in supported:
            raise BadRequest(kind.strategy.unsupported_field(name))
    return Selection(labels, fields, _fields_of(kind) if kind.is_custom and kind.conversion is not None else None)


def _fields_of(kind: Kind) -> Callable[[Stored], Mapping[str, str]]:
    """A definition may name other fields than it did when the object was stored, or than another version does."""
    conversion = kind.conversion
    assert conversion is not None
    return lambda stored: kind.strategy.selectable_fields(conversion.from_stored(stored.object()))


@lru_cache(_PARSED)
def _labels(text: str) -> Selector:
    return selector_text.parse(text)


@lru_cache(_PARSED)
def _fields(text: str) -> FieldSelector:
    return field_selectors.parse(text)


EVERYTHING = Selection(_labels(""), _fields(""))
