"""DefaultTolerationSeconds: pods bear a node that is not ready or unreachable for five minutes, unless they say."""

from __future__ import annotations

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin

_SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class DefaultTolerationSeconds(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({"pods"})

    async def admit(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.object is None:
            return
        spec = attributes.object.setdefault("spec", {})
        tolerations = spec.get("tolerations") or []
        tolerated = {one.get("key", "") for one in tolerations if one.get("effect", "NoExecute") in ("NoExecute", "")}
        if "" in tolerated:
            return
        missing = [taint for taint in _TAINTS if taint not in tolerated]
        if missing:
            spec["tolerations"] = tolerations + [
                {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
                for taint in missing
            ]
