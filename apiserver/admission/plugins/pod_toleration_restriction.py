"""PodTolerationRestriction: a namespace's annotations give its pods tolerations, and say which they may have at all."""

from __future__ import annotations

import json

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from apiserver.admission.surroundings import namespace_annotation
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.quota import is_best_effort
from kubeloop.apimachinery.tolerations import NO_SCHEDULE, covers, merged

_DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
_ALLOWED = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_UNDER_PRESSURE: Object = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": NO_SCHEDULE}


class PodTolerationRestriction(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({"pods"})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def admit(self, attributes: Attributes) -> None:
        pod = attributes.object
        if pod is None or attributes.subresource:
            return
        more = self._listed(attributes.namespace, _DEFAULTS) if attributes.operation == CREATE else []
        if not is_best_effort(pod):
            more = [*more, _UNDER_PRESSURE]
        if more:
            spec = pod.setdefault("spec", {})
            spec["tolerations"] = merged([*(spec.get("tolerations") or ()), *more])
        self._check(attributes, pod)

    async def validate(self, attributes: Attributes) -> None:
        """Once more on what other plugins made of the pod."""
        if attributes.object is not None and not attributes.subresource:
            self._check(attributes, attributes.object)

    def _check(self, attributes: Attributes, pod: Object) -> None:
        tolerations = (pod.get("spec") or {}).get("tolerations") or []
        allowed = self._listed(attributes.namespace, _ALLOWED) if tolerations else []
        if allowed and not all(any(covers(wide, one) for wide in allowed) for one in tolerations):
            why = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace"
            raise ApiError(f"{why} whitelist", code=500)

    def _listed(self, name: str, annotation: str) -> list[Object]:
        text = namespace_annotation(name, annotation, self._reader)
        try:
            found = json.loads(text) if text else []
        except ValueError as error:
            raise ApiError(str(error), code=500) from error
        return found if isinstance(found, list) else []
