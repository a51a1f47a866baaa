"""PodResizeValidator: a running pod grows no larger than its node.

Words are those of plugin/pkg/admission/podresize (v1.36).
"""

from __future__ import annotations

from apiserver.admission.chain import UPDATE, Attributes, Plugin
from apiserver.admission.surroundings import node_named, node_of_changed_pod
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of
from kubeloop.apimachinery.pod_resources import pod_requests, quantities
from kubeloop.apimachinery.quantity import Quantity

_OS = "kubernetes.io/os"
_ZERO = Quantity(0)


class PodResizeValidator(Plugin):
    operations = frozenset({UPDATE})
    resources = frozenset({"pods"})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def validate(self, attributes: Attributes) -> None:
        pod, old = attributes.object, attributes.old_object
        if attributes.subresource != "resize" or pod is None or old is None:
            return
        name = node_of_changed_pod(pod, old)
        if not name:
            return
        node = node_named(name, attributes, self._reader)
        system = labels_of(node).get(_OS, "linux")
        if system != "linux":
            why = f"pod resize is only supported on linux nodes, node {go_quote(name)} is {go_quote(system)}"
            raise _with_cause(attributes.forbidden(why), "UnsupportedPlatform")
        if missing := _missing(pod, node):
            why = f"node didn't have enough allocatable resources: {'; '.join(missing)}"
            raise _with_cause(attributes.forbidden(why), "NodeCapacity")


def _missing(pod: ReadOnlyObject, node: ReadOnlyObject) -> list[str]:
    """Of what the pod wants more than the node has."""
    requests = pod_requests(pod)
    allocatable = quantities((node.get("status") or {}).get("allocatable"))
    said = []
    for name, shown in (("cpu", Quantity.milli_value), ("memory", Quantity.value)):
        wanted, there = requests.get(name, _ZERO), allocatable.get(name, _ZERO)
        if there < wanted:
            said.append(f"{name}, requested: {shown(wanted)}, allocatable: {shown(there)}")
    return said


def _with_cause(error: Forbidden, reason: str) -> Forbidden:
    error.details = {**(error.details or {}), "causes": [{"reason": reason}]}
    return error
