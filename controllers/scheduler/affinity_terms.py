"""Pod affinity terms: which other pods a pod wants near or far, and by which topology label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kubeloop.apimachinery.selectors import NOTHING, Selector, SelectorError, from_label_selector

Labels = Mapping[str, str]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """One term, ready to be asked about other pods. It is hashable: nodes remember answers under it."""

    namespaces: frozenset[str]
    selector: Selector
    topology_key: str
    namespace_selector: Selector

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        """Whether a pod of that namespace with those labels is meant."""
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)

    @property
    def selects_namespaces(self) -> bool:
        """Whether it picks namespaces by their labels; an empty selector picks all and needs no list of them."""
        return self.namespace_selector is not NOTHING and not self.namespace_selector.is_empty

    def within(self, namespaces: Iterable[tuple[str, Labels]]) -> AffinityTerm:
        """The term with its namespace selector replaced by the namespaces it picks now."""
        picked = {name for name, labels in namespaces if self.namespace_selector.matches(labels)}
        return replace(self, namespaces=self.namespaces | picked, namespace_selector=NOTHING)


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    weight: int
    term: AffinityTerm


def required_terms(affinity: Mapping[str, Any] | None, namespace: str) -> tuple[AffinityTerm, ...]:
    """The terms of a podAffinity or podAntiAffinity that must hold."""
    return tuple(_term(term, namespace) for term in (affinity or {}).get(REQUIRED) or ())


def weighted_terms(affinity: Mapping[str, Any] | None, namespace: str) -> tuple[WeightedTerm, ...]:
    """The terms of a podAffinity or podAntiAffinity that count for scores."""
    return tuple(
        WeightedTerm(entry.get("weight", 0), _term(entry.get("podAffinityTerm") or {}, namespace))
        for entry in (affinity or {}).get(PREFERRED) or ()
    )


def matches_all(terms: Sequence[AffinityTerm], namespace: str, labels: Labels) -> bool:
    """Whether a pod is meant by every term; never, where there is none."""
    return bool(terms) and all(term.matches(namespace, labels, {}) for term in terms)


def _term(term: Mapping[str, Any], namespace: str) -> AffinityTerm:
    named = frozenset(term.get("namespaces") or ())
    by_labels = term.get("namespaceSelector")
    if not named and by_labels is None:
        named = frozenset((namespace,))
    selector = selector_or_nothing(term.get("labelSelector"))
    return AffinityTerm(named, selector, term.get("topologyKey", ""), selector_or_nothing(by_labels))


def selector_or_nothing(selector: Mapping[str, Any] | None) -> Selector:
    """Validation keeps bad selectors out; one that got in all the same must not stop the scheduler."""
    try:
        return from_label_selector(selector)
    except SelectorError:
        return NOTHING
