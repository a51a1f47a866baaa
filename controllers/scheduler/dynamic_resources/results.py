"""What a search has found, as `status.allocation` of a claim has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from controllers.scheduler.dynamic_resources.allocator import Asked, Found, Given
from controllers.scheduler.dynamic_resources.requests import devices_of
from kubeloop.apimachinery.meta import Object, name_of

Json = Mapping[str, Any]


def allocation_of(found: Found, node_name: str, share_id: Callable[[], str]) -> Object:
    """`share_id` makes up what tells the users of one device apart."""
    devices: Object = {"results": [_result(given, share_id) for given in found.given]}
    if configurations := [*_of_classes(found.chosen), *_of_claim(found)]:
        devices["config"] = configurations
    allocation: Object = {"devices": devices}
    if (term := _term(found.given, node_name)) is not None:
        allocation["nodeSelector"] = {"nodeSelectorTerms": [term]}
    return allocation


def _result(given: Given, share_id: Callable[[], str]) -> Object:
    request, device = given.request, given.device
    result: Object = {"request": request.full_name, "driver": device.id.driver, "pool": device.id.pool}
    result["device"] = device.id.device
    if request.admin_access:
        result["adminAccess"] = True
    if request.tolerations:
        result["tolerations"] = list(request.tolerations)
    for name, conditions in (
        ("bindingConditions", device.binding_conditions),
        ("bindingFailureConditions", device.binding_failure_conditions),
    ):
        if conditions:
            result[name] = list(conditions)
    if given.taken is not None:
        result["shareID"] = share_id()
        if given.taken:
            result["consumedCapacity"] = {name: str(amount) for name, amount in given.taken.items()}
    return result


def _of_classes(chosen: Mapping[int, Asked]) -> list[Object]:
    """Each class's once, for all requests that came to it."""
    by_class: dict[str, list[Object]] = {}
    for _, asked in sorted(chosen.items()):
        name = name_of(asked.device_class)
        if name not in by_class:
            configurations = (asked.device_class.get("spec") or {}).get("config") or ()
            by_class[name] = [{"source": "FromClass", "requests": [], **one} for one in configurations]
        for one in by_class[name]:
            one["requests"].append(asked.request.full_name)
    return [one for configurations in by_class.values() for one in configurations]


def _of_claim(found: Found) -> Iterator[Object]:
    """Those for all requests, and those for one that was taken; as often as they name one."""
    for configuration in devices_of(found.claim).get("config") or ():
        names = configuration.get("requests") or ()
        is_meant = [asked.request.is_among(names) for asked in found.chosen.values()] if names else [True]
        yield from ({"source": "FromClaim", **configuration} for is_one in is_meant if is_one)


def _term(given: Sequence[Given], node_name: str) -> Json | None:
    """Where the devices can be used; None where that is everywhere."""
    fields: dict[str, list[Json]] = {"matchFields": [], "matchExpressions": []}
    for one in given:
        if one.device.reach.node_name or one.device.binds_to_node:
            return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
        for term in one.device.reach.terms:
            for name, known in fields.items():
                known.extend(wanted for wanted in term.get(name) or () if not _has(known, wanted))
    return {name: known for name, known in fields.items() if known} or None


def _has(known: Sequence[Json], wanted: Json) -> bool:
    def parts(one: Json) -> tuple[Any, ...]:
        return one.get("key"), one.get("operator"), frozenset(one.get("values") or ())

    return any(parts(one) == parts(wanted) for one in known)
