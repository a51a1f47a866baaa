"""A MutatingAdmissionPolicy, compiled: what it makes of one object. Imported only where a policy is bound.

Facts: k8s.io/apiserver/pkg/admission/plugin/policy/mutating (compilation.go, patch/smd.go, patch/json_patch.go, v1.36).
Ownership is as upstream: nobody comes to own what a policy sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.admission.policies.activation import Activation
from apiserver.admission.policies.conditions import Conditions, compiled, evaluated
from apiserver.patch import json_patch
from apiserver.patch.server_side_apply.checking import problems_text
from apiserver.patch.server_side_apply.merging import merge
from apiserver.patch.server_side_apply.shapes import LIST, MAP, Shape
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.cel.environment import Budget, Program
from kubeloop.cel.patches import as_json, misnamed
from kubeloop.cel.policy_expressions import (
    APPLY_CONFIGURATION,
    JSON_PATCH,
    Composition,
    ExpressionError,
    Expressions,
)
from kubeloop.cel.values import EvaluationError

Json = Mapping[str, Any]


class MutationError(ValueError):
    """A mutation that could not be made; the text says why, as the real server does."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One of a policy's."""

    patch_type: str
    program: Program | ExpressionError

    def applied(self, obj: ReadOnlyObject, shape: Shape, activation: Activation) -> ReadOnlyObject:
        """The object after it, the same where nothing came of it. Raises MutationError."""
        if isinstance(self.program, ExpressionError):
            raise MutationError(str(self.program))
        budget = Budget()
        try:
            made = evaluated(self.program, activation.bindings(budget), budget)
            return _patched(obj, made) if self.patch_type == "JSONPatch" else _merged(obj, made, shape)
        except EvaluationError as error:
            raise MutationError(str(error)) from error


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """Made once for each version of a policy."""

    may_be_asked_again: bool
    composition: Composition
    conditions: Conditions
    mutations: Sequence[Mutation]

    @classmethod
    def of(cls, policy: ReadOnlyObject) -> CompiledPolicy:
        spec = policy["spec"]
        plain = Expressions.of(has_params=spec.get("paramKind") is not None)
        composition = Composition.of(plain, spec.get("variables") or ())
        full = plain.with_variables(composition.types)
        patching = full.with_patches()
        return cls(
            spec.get("reinvocationPolicy") == "IfNeeded",
            composition,
            Conditions.of(spec.get("matchConditions") or (), full),
            [_mutation(each, patching) for each in spec.get("mutations") or ()],
        )


def _mutation(source: Json, expressions: Expressions) -> Mutation:
    patch_type = source["patchType"]
    if patch_type == "JSONPatch":
        return Mutation(patch_type, compiled(expressions, source["jsonPatch"]["expression"], (JSON_PATCH,)))
    expression = source["applyConfiguration"]["expression"]
    return Mutation(patch_type, compiled(expressions, expression, (APPLY_CONFIGURATION,)))


# -- JSON patches -----------------------------------------------------------------------------------------------------


def _patched(obj: ReadOnlyObject, operations: Any) -> ReadOnlyObject:
    try:
        patched = json_patch.carried_out(dict(obj), [_operation(operation) for operation in operations])
    except json_patch.UnmetTest:
        return obj  # a patch whose test fails does nothing
    except json_patch.PatchError as error:
        raise MutationError(f"JSON Patch: {error}") from error
    return patched if isinstance(patched, dict) else obj


def _operation(made: Mapping[str, Any]) -> Json:
    operation: dict[str, Any] = {"op": made.get("op", ""), "path": made.get("path", "")}
    if made.get("from"):
        operation["from"] = made["from"]
    if "value" in made:
        _check_names(made["value"])
        try:
            operation["value"] = as_json(made["value"])
        except EvaluationError as error:
            raise MutationError(f"JSONPath valueExpression {error}") from error
    return operation


# -- apply configurations ---------------------------------------------------------------------------------------------


def _merged(obj: ReadOnlyObject, made: Any, shape: Shape) -> Object:
    _check_names(made)
    config = {**as_json(made), "kind": obj["kind"], "apiVersion": obj["apiVersion"]}
    if problem := problems_text(shape, config):
        raise MutationError(f"error applying patch: failed to convert patch object to typed object: {problem}")
    if atomic := list(_atomic_parts(shape, config, "")):
        why = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
        raise MutationError(f"error applying patch: invalid ApplyConfiguration: {why}")
    merged: Object = merge(shape, dict(obj), config)
    return merged


def _atomic_parts(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """The paths of what is owned whole: to set a part of it would mean to set all of it."""
    if isinstance(value, dict) and shape.form == MAP:
        if shape.is_leaf:
            yield path
        for name, inner in value.items():
            below = shape.fields.get(name)
            if below is not None:
                yield from _atomic_parts(below, inner, f"{path}.{name}")
    elif isinstance(value, list) and shape.form == LIST:
        if shape.is_leaf:
            yield path
        for i, item in enumerate(value):
            yield from _atomic_parts(shape.items, item, f"{path}[{i}]")


def _check_names(made: Any) -> None:
    """Whether the types of objects are named by the paths at which they stand."""
    if wrong := list(misnamed(made)):
        raise MutationError("type mismatch: " + "\n".join(wrong))
