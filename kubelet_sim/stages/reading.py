"""From the document of a Stage to the Stage; what cannot be understood is refused with its name and the field."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from kubelet_sim.stages.amounts import Delay, Duration, From, Weight
from kubelet_sim.stages.definition import OPERATORS, SPEC
from kubelet_sim.stages.expression import StageError, cel, jq
from kubelet_sim.stages.model import (
    OF_NODES,
    OF_PODS,
    Apply,
    Patch,
    Requirement,
    ResourceRef,
    Selector,
    Stage,
    Step,
)
from kubelet_sim.stages.surroundings import names_of
from kubelet_sim.stages.template import Template
from kubelet_sim.stages.validation import problems

Thing = TypeVar("Thing")
Fields = Mapping[str, Any]


def read(document: Fields) -> Stage | None:
    """None: without a selector a Stage is for no object. Raises StageError."""
    name = (document.get("metadata") or {}).get("name") or ""
    spec = document.get("spec") or {}
    try:
        found = list(problems(spec, SPEC, "spec"))
        if found:
            raise StageError("; ".join(found))
        return _read(name, spec) if spec.get("selector") is not None else None
    except StageError as error:
        raise StageError(f"stage {name!r}: {error}") from None


def _read(name: str, spec: Fields) -> Stage:
    reference = spec["resourceRef"]
    ref = ResourceRef(reference.get("apiGroup") or "v1", reference["kind"])
    delay = spec.get("delay") or {}
    weight = Weight(spec.get("weight") or 0, _from(spec.get("weightFrom"), "spec.weightFrom"))
    duration = Duration(_least(delay), _from(delay.get("durationFrom"), "spec.delay.durationFrom"))
    jitter = Duration(
        delay.get("jitterDurationMilliseconds"), _from(delay.get("jitterDurationFrom"), "spec.delay.jitterDurationFrom")
    )
    return Stage(
        name=name,
        ref=ref,
        selector=_selector(spec["selector"]),
        weight=weight,
        delay=Delay(duration, jitter),
        steps=list(_steps(spec, ref)),
        is_immediate=bool(spec.get("immediateNextStage")),
        asked=[one for one in (weight.found, duration.found, jitter.found) if one is not None],
    )


def _least(delay: Fields) -> int | None:
    """A delay that only has a jitter begins at nothing."""
    if not delay:
        return None
    return delay.get("durationMilliseconds") or 0


def _at(path: str, read: Callable[[], Thing]) -> Thing:
    """What is read there; its refusal says where that is."""
    try:
        return read()
    except StageError as error:
        raise StageError(f"{path}: {error}") from None


def _from(fields: Fields | None, path: str) -> From | None:
    fields = fields or {}
    by_cel = (fields.get("cel") or {}).get("expression")
    by_jq = (fields.get("jq") or {}).get("expression") or fields.get("expressionFrom")
    if by_cel:
        return From(None, _at(path, partial(cel, by_cel)))
    return From(_at(path, partial(jq, by_jq)), None) if by_jq else None


def _selector(fields: Fields) -> Selector:
    requirements, conditions = [], []
    for i, one in enumerate(fields.get("matchExpressions") or ()):
        path = f"spec.selector.matchExpressions[{i}]"
        expression = (one.get("cel") or {}).get("expression")
        if expression and not one.get("jq") and not one.get("key"):
            conditions.append(_at(f"{path}.cel", partial(cel, expression)))
        else:
            requirements.append(_at(path, partial(_requirement, one.get("jq") or one)))
    return Selector(
        labels=fields.get("matchLabels") or {},
        annotations=fields.get("matchAnnotations") or {},
        of_marks=[one for one in requirements if one.query.is_about_marks],
        others=[one for one in requirements if not one.query.is_about_marks],
        conditions=conditions,
    )


def _requirement(fields: Fields) -> Requirement:
    operator, values = fields.get("operator"), fields.get("values") or ()
    if not fields.get("key"):
        raise StageError("needs a key, or cel")
    if operator not in OPERATORS:
        raise StageError(f"operator {operator!r}: there are {', '.join(OPERATORS)}")
    if bool(values) != (operator in ("In", "NotIn")):
        raise StageError(f"operator {operator}: {'takes no values' if values else 'needs values'}")
    return Requirement(jq(fields["key"]), operator, frozenset(values))


def _steps(spec: Fields, ref: ResourceRef) -> Iterator[Step]:
    """Those of `steps`, or where there are none what `next` says, in kwok's order."""
    if spec.get("steps"):
        for i, fields in enumerate(spec["steps"]):
            yield _step(fields, ref, f"spec.steps[{i}]")
        return
    following = spec.get("next") or {}
    if following.get("event"):
        yield Step(event=following["event"])
    if following.get("finalizers"):
        yield Step(finalizers=following["finalizers"])
    if following.get("patches"):
        for i, fields in enumerate(following["patches"]):
            yield Step(patch=_patch(fields, ref, f"spec.next.patches[{i}]"))
    elif following.get("statusTemplate"):
        yield Step(patch=_status_patch(following, ref))
    if following.get("delete"):
        yield Step(is_deletion=True)


def _step(fields: Fields, ref: ResourceRef, path: str) -> Step:
    patch, apply = fields.get("patch"), fields.get("apply")
    return Step(
        event=fields.get("event"),
        finalizers=fields.get("finalizers"),
        is_deletion=bool(fields.get("delete")),
        patch=_patch(patch, ref, f"{path}.patch") if patch else None,
        apply=_apply(apply, ref, f"{path}.apply") if apply else None,
    )


def _status_patch(following: Fields, ref: ResourceRef) -> Patch:
    names = names_of(*ref)
    template = _at("spec.next.statusTemplate", partial(Template, following["statusTemplate"], names))
    subresource = following.get("statusSubresource")
    username = (following.get("statusPatchAs") or {}).get("username") or ""
    return Patch(_default_type(ref), "status" if subresource is None else subresource, "status", template, username)


def _patch(fields: Fields, ref: ResourceRef, path: str) -> Patch:
    return Patch(
        type=fields.get("type") or _default_type(ref),
        subresource=fields.get("subresource") or "",
        root=fields.get("root") or "",
        template=_template(fields, names_of(*ref), path),
        username=(fields.get("impersonation") or {}).get("username") or "",
    )


def _apply(fields: Fields, ref: ResourceRef, path: str) -> Apply:
    return Apply(
        type=fields.get("type") or "apply",
        subresource=fields.get("subresource") or "",
        template=_template(fields, names_of(*ref), path),
        username=(fields.get("impersonation") or {}).get("username") or "",
    )


def _template(fields: Fields, names: Collection[str], path: str) -> Template:
    return _at(f"{path}.template", partial(Template, fields["template"], names))


def _default_type(ref: ResourceRef) -> str:
    return "strategic" if ref in (OF_PODS, OF_NODES) else "merge"
