"""LimitRanger: containers get the default requests and limits of the namespace's LimitRanges, and must keep to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, is_being_deleted
from kubeloop.apimachinery.pod_resources import Quantities, pod_limits, pod_requests, quantities
from kubeloop.apimachinery.quantity import Quantity

LIMIT_RANGES = "limitranges"

_ANNOTATION = "kubernetes.io/limit-ranger"
_PODS = "pods"
_MAX_MILLI_VALUE = (2**63 - 1) // 1000
_CONTAINER_WORDS = {"containers": "container", "initContainers": "init container"}


class LimitRanger(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({_PODS, "persistentvolumeclaims"})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def admit(self, attributes: Attributes) -> None:
        if attributes.object is None or attributes.resource.plural != _PODS or not _is_limited(attributes):
            return
        for limit_range in self._reader.list(LIMIT_RANGES, attributes.namespace):
            _set_defaults(attributes.object, limit_range)

    async def validate(self, attributes: Attributes) -> None:
        if attributes.object is None or not _is_limited(attributes):
            return
        violations = _pod_violations if attributes.resource.plural == _PODS else _claim_violations
        for limit_range in self._reader.list(LIMIT_RANGES, attributes.namespace):
            found = list(dict.fromkeys(violations(attributes.object, _limits_of(limit_range))))
            if found:
                raise attributes.forbidden(found[0] if len(found) == 1 else f"[{', '.join(found)}]")


def _is_limited(attributes: Attributes) -> bool:
    """New pods, resized pods, and every write of a claim; nothing that is on its way out."""
    if attributes.old_object is not None and is_being_deleted(attributes.old_object):
        return False
    is_pod = attributes.resource.plural == _PODS
    if attributes.subresource:
        return is_pod and attributes.subresource == "resize" and attributes.operation == UPDATE
    return not is_pod or attributes.operation == CREATE


def _limits_of(limit_range: ReadOnlyObject) -> list[Mapping[str, Any]]:
    return (limit_range.get("spec") or {}).get("limits") or []


# -- defaults --------------------------------------------------------------------------------------------------------


def _set_defaults(pod: Object, limit_range: ReadOnlyObject) -> None:
    """Fill in what containers leave out, and note in an annotation what was filled in."""
    defaults: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in _limits_of(limit_range):
        if limit.get("type") == "Container":
            defaults["requests"].update(limit.get("defaultRequest") or {})
            defaults["limits"].update(limit.get("default") or {})
    if not defaults["requests"] and not defaults["limits"]:
        return
    spec = pod.get("spec") or {}
    notes = [
        note
        for field, word in _CONTAINER_WORDS.items()
        for container in spec.get(field) or ()
        for note in _fill(container, defaults, word)
    ]
    if notes:
        metadata = pod.setdefault("metadata", {})
        text = "LimitRanger plugin set: " + "; ".join(notes)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), _ANNOTATION: text}


def _fill(container: Object, defaults: Mapping[str, Mapping[str, str]], word: str) -> Iterator[str]:
    resources = dict(container.get("resources") or {})
    for field, noun in (("requests", "request"), ("limits", "limit")):
        present = resources.get(field) or {}
        missing = sorted(name for name in defaults[field] if name not in present)
        if missing:
            resources[field] = {**present, **{name: defaults[field][name] for name in missing}}
            yield f"{', '.join(missing)} {noun} for {word} {container.get('name', '')}"
    container["resources"] = resources


# -- limits ----------------------------------------------------------------------------------------------------------


def _pod_violations(pod: ReadOnlyObject, limits: list[Mapping[str, Any]]) -> Iterator[str]:
    spec = pod.get("spec") or {}
    for limit in limits:
        if limit.get("type") == "Container":
            for field in _CONTAINER_WORDS:
                for container in spec.get(field) or ():
                    resources = container.get("resources") or {}
                    requests, limited = quantities(resources.get("requests")), quantities(resources.get("limits"))
                    yield from _violations(limit, "Container", requests, limited)
        elif limit.get("type") == "Pod":
            requests, limited = pod_requests(pod, with_overhead=False), pod_limits(pod, with_overhead=False)
            yield from _violations(limit, "Pod", requests, limited)


def _violations(limit: Mapping[str, Any], kind: str, requests: Quantities, limits: Quantities) -> Iterator[str]:
    for name, bound in sorted(quantities(limit.get("min")).items()):
        yield from _below(kind, name, bound, requests.get(name), limits.get(name))
    for name, bound in sorted(quantities(limit.get("max")).items()):
        yield from _above(kind, name, bound, requests.get(name), limits.get(name))
    for name, bound in sorted(quantities(limit.get("maxLimitRequestRatio")).items()):
        yield from _ratio(kind, name, bound, requests.get(name), limits.get(name))


def _claim_violations(claim: ReadOnlyObject, limits: list[Mapping[str, Any]]) -> Iterator[str]:
    """Claims only request: their limits, if any, are no user's input."""
    kind = "PersistentVolumeClaim"
    requests = quantities(((claim.get("spec") or {}).get("resources") or {}).get("requests"))
    for limit in limits:
        if limit.get("type") != kind:
            continue
        for name, bound in sorted(quantities(limit.get("min")).items()):
            yield from _below(kind, name, bound, requests.get(name), None)
        for name, bound in sorted(quantities(limit.get("max")).items()):
            rule, request = f"maximum {name} usage per {kind} is {bound}", requests.get(name)
            if request is None:
                yield f"{rule}.  No request is specified"
            elif bound < request:
                yield f"{rule}, but request is {request}"


def _below(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    rule = f"minimum {name} usage per {kind} is {bound}"
    if request is None:
        yield f"{rule}.  No request is specified"
    elif request < bound:
        yield f"{rule}, but request is {request}"
    elif limit is not None and limit < bound:
        yield f"{rule}, but limit is {limit}"


def _above(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    rule = f"maximum {name} usage per {kind} is {bound}"
    if limit is None:
        yield f"{rule}.  No limit is specified"
    elif bound < limit:
        yield f"{rule}, but limit is {limit}"
    elif request is not None and bound < request:
        yield f"{rule}, but request is {request}"


def _ratio(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    rule = f"{name} max limit to request ratio per {kind} is {bound}"
    if request is None or request.is_zero:
        yield f"{rule}, but no request is specified or request is 0"
    elif limit is None or limit.is_zero:
        yield f"{rule}, but no limit is specified or limit is 0"
    else:
        asked, allowed = _comparable(request, limit)
        ratio = allowed / asked
        most = bound.milli_value() / 1000 if bound.value() <= _MAX_MILLI_VALUE else float(bound.value())
        if ratio > most:
            yield f"{rule}, but provided ratio is {ratio:.6f}"


def _comparable(request: Quantity, limit: Quantity) -> tuple[int, int]:
    """Both in thousandths, or in whole units where thousandths would not fit 64 bits."""
    if max(request.value(), limit.value()) <= _MAX_MILLI_VALUE:
        return request.milli_value(), limit.milli_value()
    return request.value(), limit.value()
