"""Node selectors: spec.nodeSelector and node affinity, as component-helpers/scheduling/corev1/nodeaffinity (v1.36).

Terms are ORed, the expressions of one term are ANDed; an empty term matches no node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeloop.apimachinery.selectors import (
    EVERYTHING,
    NOTHING,
    Labels,
    Selector,
    SelectorError,
    from_labels,
    from_node_expressions,
)

NAME_FIELD = "metadata.name"


@dataclass(frozen=True, slots=True)
class NameTest:
    """A `matchFields` entry; only metadata.name exists, and only In and NotIn with names."""

    names: frozenset[str]
    is_wanted: bool

    def matches(self, name: str) -> bool:
        return (name in self.names) == self.is_wanted


@dataclass(frozen=True, slots=True)
class Term:
    """One node selector term."""

    selector: Selector
    name_tests: tuple[NameTest, ...]

    def matches(self, name: str, labels: Labels) -> bool:
        return self.selector.matches(labels) and all(test.matches(name) for test in self.name_tests)

    def node_names(self) -> frozenset[str] | None:
        """The only nodes it can match, where it says so by name."""
        named = [test.names for test in self.name_tests if test.is_wanted]
        return frozenset.intersection(*named) if named else None


@dataclass(frozen=True, slots=True)
class RequiredNodeAffinity:
    """What a node must have: the labels of nodeSelector and one of the required terms (None: no such field)."""

    selector: Selector
    terms: tuple[Term, ...] | None

    @property
    def is_empty(self) -> bool:
        return self.selector.is_empty and self.terms is None

    def matches(self, name: str, labels: Labels) -> bool:
        if not self.selector.matches(labels):
            return False
        return self.terms is None or any(term.matches(name, labels) for term in self.terms)

    def node_names(self) -> frozenset[str] | None:
        """The union of the names the terms are bound to; None where one of them is free."""
        if not self.terms:
            return None
        union: frozenset[str] = frozenset()
        for term in self.terms:
            names = term.node_names()
            if names is None:
                return None
            union |= names
        return union


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    weight: int
    term: Term


def required_node_affinity(spec: Mapping[str, Any]) -> RequiredNodeAffinity:
    """Read from a pod's spec."""
    required = _node_affinity(spec).get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None if required is None else _terms(required)
    return RequiredNodeAffinity(from_labels(spec.get("nodeSelector")), terms)


def preferred_terms(spec: Mapping[str, Any]) -> tuple[PreferredTerm, ...]:
    """Read from a pod's spec; a term of weight 0 or without expressions counts for nothing."""
    preferred = _node_affinity(spec).get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(
        PreferredTerm(entry["weight"], _term(entry.get("preference") or {}))
        for entry in preferred
        if entry.get("weight")
    )


def node_selector(selector: Mapping[str, Any]) -> RequiredNodeAffinity:
    """A v1.NodeSelector on its own, as a PersistentVolume carries one."""
    return RequiredNodeAffinity(EVERYTHING, _terms(selector))


def _node_affinity(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return (spec.get("affinity") or {}).get("nodeAffinity") or {}


def _terms(selector: Mapping[str, Any]) -> tuple[Term, ...]:
    return tuple(_term(term) for term in selector.get("nodeSelectorTerms") or ())


def _term(term: Mapping[str, Any]) -> Term:
    """A term that cannot be parsed matches nothing, as one without any expression."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    try:
        selector = EVERYTHING if fields and not expressions else from_node_expressions(expressions)
    except SelectorError:
        selector = NOTHING
    return Term(selector, _name_tests(fields))


def _name_tests(fields: Sequence[Mapping[str, Any]]) -> tuple[NameTest, ...]:
    return tuple(
        NameTest(frozenset(entry.get("values") or ()), entry.get("operator") == "In")
        for entry in fields
        if entry.get("key") == NAME_FIELD
    )
