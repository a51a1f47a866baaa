"""NodeDeclaredFeatureValidator: a pod on a node is not changed into one that the node says nothing of supporting.

Words are those of plugin/pkg/admission/nodedeclaredfeatures (v1.36). Only two of the features that nodes declare
concern changes of a pod; the others are the scheduler's business.
"""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.admission.chain import UPDATE, Attributes, Plugin
from apiserver.admission.surroundings import node_named, node_of_changed_pod
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import ReadOnlyObject

_POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling"
_INIT_CONTAINERS = "InPlacePodVerticalScalingInitContainers"


class NodeDeclaredFeatureValidator(Plugin):
    operations = frozenset({UPDATE})
    resources = frozenset({"pods"})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def validate(self, attributes: Attributes) -> None:
        pod, old = attributes.object, attributes.old_object
        if attributes.subresource not in ("", "resize") or pod is None or old is None:
            return
        name = node_of_changed_pod(pod, old)
        required = list(_required(pod, old)) if name else []
        if not required:
            return
        node = node_named(name, attributes, self._reader)
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        if missing := [feature for feature in required if feature not in declared]:
            features = ", ".join(missing)
            raise attributes.forbidden(
                f"pod update requires features {features} which are not available on node {go_quote(name)}"
            )


def _required(pod: ReadOnlyObject, old: ReadOnlyObject) -> Iterator[str]:
    """What the node must be able to do for the change, by name."""
    spec, old_spec = pod.get("spec") or {}, old.get("spec") or {}
    if (spec.get("resources") or {}) != (old_spec.get("resources") or {}):
        yield _POD_LEVEL
    before, after = old_spec.get("initContainers") or (), spec.get("initContainers") or ()
    if any(
        one.get("restartPolicy") != "Always" and (one.get("resources") or {}) != (other.get("resources") or {})
        for one, other in zip(before, after, strict=False)
    ):
        yield _INIT_CONTAINERS
