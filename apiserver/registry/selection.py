"""What a list, watch or deletecollection selects: label and field selector together, checked against the kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.registry.catalog import Kind
from apiserver.registry.selectors import parse_selectors
from apiserver.storage.interface import Stored
from kubeloop.apimachinery.errors import BadRequest
from kubeloop.apimachinery.field_selectors import FieldSelector
from kubeloop.apimachinery.selectors import Selector

_OF_KEYS = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True)
class Selection:
    """A predicate over stored objects, in the version asked for, that parses none of them."""

    labels: Selector
    fields: FieldSelector

    @property
    def is_everything(self) -> bool:
        return self.labels.is_empty and self.fields.is_empty

    def matches(self, stored: Stored) -> bool:
        if not self.labels.is_empty and not self.labels.matches(stored.labels):
            return False
        if self.fields.is_empty:
            return True
        key = stored.key
        return self.fields.matches({**stored.fields, "metadata.name": key.name, "metadata.namespace": key.namespace})

    def of(self, items: Sequence[Stored]) -> Sequence[Stored]:
        if self.is_everything:
            return items
        return [stored for stored in items if self.matches(stored)]

    def needs_shown(self, *, labels_may_differ: bool) -> bool:
        """Whether it chooses by what an object that is stored in another version shows only when converted."""
        if labels_may_differ and not self.labels.is_empty:
            return True
        return any(name not in _OF_KEYS for name in self.fields.fields)

    @property
    def name(self) -> str:
        """The one object name that can match, or "" where the selection leaves it open."""
        return self.fields.exact_value("metadata.name") or ""


def select(kind: Kind, label_selector: str, field_selector: str) -> Selection:
    """The selection two selector texts make; BadRequest where one cannot be read or names an unknown field."""
    if not label_selector and not field_selector:
        return EVERYTHING
    labels, fields = parse_selectors(label_selector, field_selector)
    if not fields.is_empty:
        fields = _known(kind, fields)
    return Selection(labels, fields)


def _known(kind: Kind, fields: FieldSelector) -> FieldSelector:
    """The selector under the names fields are stored under; BadRequest where it names one the kind does not have.

    A cluster-scoped kind with fields of its own, as every custom one, has no metadata.namespace; others do not mind.
    """
    strategy = kind.strategy
    own, old_names = strategy.selectable_field_names, strategy.old_field_names
    has_namespace = kind.resource.namespaced or not (own or kind.is_custom)
    for name in fields.fields:
        if name == "metadata.name" or (name == "metadata.namespace" and has_namespace):
            continue
        if name not in own and name not in old_names:
            raise BadRequest(strategy.unsupported_field(name))
    return fields.renamed(old_names) if old_names else fields


EVERYTHING = Selection(*parse_selectors("", ""))
