"""ExtendedResourceToleration: who asks for devices tolerates the taints of the nodes that are kept for them."""

from __future__ import annotations

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.quota import is_extended
from kubeloop.apimachinery.tolerations import NO_SCHEDULE

_IDENTITY = ("key", "effect", "operator", "value")


class ExtendedResourceToleration(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({"pods"})

    async def admit(self, attributes: Attributes) -> None:
        pod = attributes.object
        if pod is None or attributes.subresource:
            return
        for resource in sorted(_extended_resources(pod)):
            _tolerate(pod, {"key": resource, "operator": "Exists", "effect": NO_SCHEDULE})


def _extended_resources(pod: ReadOnlyObject) -> set[str]:
    spec = pod.get("spec") or {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    requested = ((container.get("resources") or {}).get("requests") or {} for container in containers)
    return {name for requests in requested for name in requests if is_extended(name)}


def _tolerate(pod: Object, toleration: Object) -> None:
    """Add a toleration, or put it in the place of the one that says the same."""
    present = pod["spec"].get("tolerations") or []
    same = [all(one.get(part) == toleration.get(part) for part in _IDENTITY) for one in present]
    if toleration in present:
        return
    if any(same):
        pod["spec"]["tolerations"] = [
            toleration if is_same else one for one, is_same in zip(present, same, strict=True)
        ]
    else:
        pod["spec"]["tolerations"] = [*present, toleration]
