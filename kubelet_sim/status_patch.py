"""The strategic merge patch that turns a pod's status into the one its kubelet wants; nothing where they agree.

Only a kubelet's own fields and conditions are touched, so others may write theirs at the same time. The pod's uid
goes along: a pod that was deleted and made again under the same name is not to be patched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.pod_conditions import OWN_TYPES, PASSING_TYPES
from kubelet_sim.pod_status import OWN_FIELDS
from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, uid_of

_TEXTS = ("reason", "message")


def status_patch(obj: ReadOnlyObject, wanted: Mapping[str, Any]) -> Object | None:
    current = obj.get("status") or {}
    changed = {
        field: wanted.get(field)
        for field in OWN_FIELDS
        if field != "conditions" and current.get(field) != wanted.get(field)
    }
    changed |= _conditions(obj, wanted.get("conditions"))
    return {"metadata": {"uid": uid_of(obj)}, "status": changed} if changed else None


def _conditions(obj: ReadOnlyObject, wanted: list[Object] | None) -> Object:
    """A kubelet's conditions stand last and in its order. None: of a pod that it has rejected it has none, and the
    scheduler's goes with them.
    """
    passing = PASSING_TYPES if wanted is not None else (*PASSING_TYPES, *OWN_TYPES)
    wanted = wanted or []
    current = {condition["type"]: condition for condition in conditions_of(obj)}
    changed = [condition for condition in wanted if not _is_same(current.get(condition["type"]), condition)]
    own = [condition["type"] for condition in wanted]
    gone = [type_ for type_ in passing if type_ in current and type_ not in own]
    if not changed and not gone:
        return {}
    others = (type_ for type_ in current if type_ not in OWN_TYPES and type_ not in own and type_ not in gone)
    order = [*others, *own]
    return {
        "$setElementOrder/conditions": [{"type": type_} for type_ in order],
        "conditions": [
            *(_with_removals(current.get(condition["type"]), condition) for condition in changed),
            *({"type": type_, "$patch": "delete"} for type_ in gone),
        ],
    }


def _is_same(current: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    """Absent and empty mean the same."""
    if current is None or current == wanted:
        return current is not None
    return {k: v for k, v in current.items() if v} == {k: v for k, v in wanted.items() if v}


def _with_removals(current: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> Object:
    return dict.fromkeys((text for text in _TEXTS if (current or {}).get(text)), None) | dict(wanted)
