"""LimitPodHardAntiAffinityTopology: a pod may keep others off its node, not off its zone."""

from __future__ import annotations

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin

_HOSTNAME = "kubernetes.io/hostname"


class LimitPodHardAntiAffinityTopology(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({"pods"})

    async def validate(self, attributes: Attributes) -> None:
        if attributes.object is None or attributes.subresource:
            return
        affinity = (attributes.object.get("spec") or {}).get("affinity") or {}
        terms = (affinity.get("podAntiAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for term in terms:
            key = term.get("topologyKey", "")
            if key != _HOSTNAME:
                raise attributes.forbidden(
                    f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {_HOSTNAME} "
                    "is allowed"
                )
