"""How custom resources behave: the strategy of one version of a custom kind.

Facts: apiextensions-apiserver/pkg/registry/customresource (v1.36). The store hands over objects in this version,
without kind and apiVersion; a schema speaks of whole objects, so they are shown to it that way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from apiserver.registry.custom.versioning import STORED_IN
from apiserver.registry.nested import AccessorError, dotted, nested_integer, nested_text, value_at
from apiserver.registry.scale_fields import PathScale
from apiserver.registry.strategy import Strategy
from apiserver.schema.custom_type import CustomType
from apiserver.schema.old_values import UNKNOWN
from kubeloop.apimachinery import validation
from kubeloop.apimachinery.errors import MethodNotAllowed
from kubeloop.apimachinery.field import (
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE_INVALID,
    FieldError,
    go_quote,
    invalid,
)
from kubeloop.apimachinery.json_schema import RULES, all_within
from kubeloop.apimachinery.meta import Object, deep_copy
from kubeloop.apimachinery.metadata_validation import STANDARD_FINALIZERS
from kubeloop.apimachinery.resource import Resource

if TYPE_CHECKING:
    from apiserver.registry.custom.rules import RuleTree

# Errors that make it pointless to evaluate rules.
_BLOCKING = frozenset({NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID})
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
_WRITES = frozenset({"create", "patch", "update"})
_MAX_INT32 = 2**31 - 1
_PREFER = "prefer a domain-qualified finalizer name"
_CONFLICTS = "to avoid accidental conflicts with other finalizer writers"


class CustomStrategy(Strategy):
    allow_unconditional_update = False
    checks_finalizer_domains = False

    def __init__(
        self,
        resource: Resource,
        type_: CustomType,
        *,
        has_status: bool,
        scale: PathScale | None,
        selectable: Mapping[str, tuple[str, ...]],
        is_terminating: Callable[[], bool],
    ) -> None:
        self._resource, self._type = resource, type_
        self._has_status, self._scale, self._selectable = has_status, scale, selectable
        self._is_terminating = is_terminating
        # What the last validation forgave because it was wrong before; the store asks for warnings right after it.
        self._ratcheted: list[str] = []

    @property
    def hidden_verbs(self) -> frozenset[str]:
        return _WRITES if self._is_terminating() else frozenset()

    def check_before_insert(self) -> None:
        if self._is_terminating():
            message = "create not allowed while custom resource definition is terminating"
            raise MethodNotAllowed(message, details={"group": self._resource.group, "kind": self._resource.plural})

    def prepare_for_create(self, obj: Object) -> None:
        self.check_before_insert()
        if self._has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, new: Object, old: Object) -> None:
        if self._has_status:
            _carry_over(new, old, "status")
        generation = old["metadata"].get("generation", 0)
        if _without_metadata(new) != _without_metadata(old):
            generation += 1
        if generation:
            new["metadata"]["generation"] = generation

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        kept = deep_copy(old)
        _carry_over(kept, new, "status")
        _carry_over(kept["metadata"], new["metadata"], "managedFields")
        kept["metadata"]["resourceVersion"] = new["metadata"]["resourceVersion"]
        new.clear()
        new.update(kept)

    def validate(self, obj: Object) -> Sequence[FieldError]:
        whole = self._whole(obj)
        errors = [*self._type.errors(whole), *self._scale_spec_errors(obj), *self._scale_status_errors(obj)]
        return errors + self._rule_errors(whole, None, errors)

    def validate_update(self, new: Object, old: Object) -> Sequence[FieldError]:
        whole, whole_old = self._whole(new), self._whole(old)
        errors = [*self._type.errors(whole, whole_old), *self._scale_spec_errors(new), *self._scale_status_errors(new)]
        return errors + self._rule_errors(whole, whole_old, errors)

    def validate_status_update(self, new: Object, old: Object) -> Sequence[FieldError]:
        whole, whole_old = self._whole(new), self._whole(old)
        errors = [*self._type.status_errors(whole, whole_old), *self._scale_status_errors(new)]
        return errors + self._rule_errors(whole, whole_old, errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        return self.update_warnings(obj, {"metadata": {}}, "")

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        """What was wrong before and still is, and finalizers that are new."""
        told, self._ratcheted = self._ratcheted, []
        added = set(new["metadata"].get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
        return [*told, *(text for name in sorted(added) for text in _finalizer_warnings(name))]

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        """And the version, by which an object is read should the definition come to have others."""
        selectable = {name: _text(value_at(obj, path)) for name, path in self._selectable.items()}
        return {STORED_IN: self._resource.api_version, **selectable}

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return frozenset(self._selectable)

    def unsupported_field(self, name: str) -> str:
        return f"field label not supported: {name}"

    def _whole(self, obj: Object) -> Object:
        return {"apiVersion": self._resource.api_version, "kind": self._resource.kind, **obj}

    @cached_property
    def _rules(self) -> RuleTree | None:
        """Rules in CEL, compiled when first needed: servers of definitions without any never load CEL."""
        if not any(part.get(RULES) for part in all_within(self._type.schema)):
            return None
        from apiserver.registry.custom.rules import rule_tree

        return rule_tree(self._type.schema, is_root=True)

    def _rule_errors(self, whole: Object, old: Object | None, errors: Sequence[FieldError]) -> list[FieldError]:
        if self._rules is None:
            return []
        if any(error.reason in _BLOCKING for error in errors):
            return [invalid("<nil>", None, _NOT_CHECKED)]
        from apiserver.registry.custom.rules import Before, Run

        run = Run()
        found = list(self._rules.errors(whole, Before(UNKNOWN if old is None else old), run=run))
        self._ratcheted = [str(error) for error in run.ratcheted]
        return found

    def _scale_spec_errors(self, obj: Object) -> list[FieldError]:
        return _replicas_errors(obj, self._scale.spec_path) if self._scale else []

    def _scale_status_errors(self, obj: Object) -> list[FieldError]:
        if self._scale is None:
            return []
        errors = _replicas_errors(obj, self._scale.status_path)
        if path := self._scale.selector_path:
            try:
                nested_text(obj, path)
            except AccessorError as error:
                errors.append(invalid(dotted(path), "", str(error)))
        return errors


def _replicas_errors(obj: Object, path: tuple[str, ...]) -> list[FieldError]:
    try:
        value = nested_integer(obj, path) or 0
    except AccessorError as error:
        return [invalid(dotted(path), 0, str(error))]
    if value < 0:
        return [invalid(dotted(path), value, "should be a non-negative integer")]
    if value > _MAX_INT32:
        return [invalid(dotted(path), value, f"should be less than or equal to {_MAX_INT32}")]
    return []


def _finalizer_warnings(name: str) -> list[str]:
    reasons = validation.qualified_name_errors(name)
    if "/" not in name and name not in STANDARD_FINALIZERS:
        reasons = [
            *reasons,
            f"{_PREFER} including a path (/) {_CONFLICTS}" if "." in name else f"{_PREFER} {_CONFLICTS}",
        ]
    return [f"metadata.finalizers: {go_quote(name)}: {reason}" for reason in reasons]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _without_metadata(obj: Object) -> Object:
    return {k: v for k, v in obj.items() if k != "metadata"}


def _carry_over(to: Object, source: Object, name: str) -> None:
    if name in source:
        to[name] = source[name]
    else:
        to.pop(name, None)
