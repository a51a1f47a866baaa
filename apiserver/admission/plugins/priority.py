"""Priority: a pod gets the number and the preemption policy of its priority class, or of the cluster's default one."""

from __future__ import annotations

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import Object, name_of

PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"

_NO_CLASS: Object = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}


class Priority(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({"pods", PRIORITY_CLASSES})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def admit(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.object is None or attributes.resource.plural != "pods":
            return
        spec = attributes.object.setdefault("spec", {})
        if attributes.operation == CREATE:
            self._resolve(attributes, spec)
        else:
            _keep(spec, (attributes.old_object or {}).get("spec") or {})

    async def validate(self, attributes: Attributes) -> None:
        """There is one default class at most."""
        if attributes.subresource or attributes.object is None or attributes.resource.plural != "priorityclasses":
            return
        if not attributes.object.get("globalDefault"):
            return
        default = self._default_class()
        if default is None:
            return
        if attributes.operation == CREATE or name_of(default) != name_of(attributes.object):
            why = f"PriorityClass {name_of(default)} is already marked as default. Only one default can exist"
            raise attributes.forbidden(why)

    def _resolve(self, attributes: Attributes, spec: Object) -> None:
        priority_class = self._class_of(attributes, spec)
        priority = priority_class.get("value", 0)
        asked = spec.get("priority")
        if asked is not None and asked != priority:
            raise attributes.forbidden(
                f"the integer value of priority ({asked}) must not be provided in pod spec; "
                f"priority admission controller computed {priority} from the given PriorityClass name"
            )
        spec["priority"] = priority
        policy = priority_class.get("preemptionPolicy")
        if policy is None:
            return
        asked_policy = spec.get("preemptionPolicy")
        if asked_policy is not None and asked_policy != policy:
            raise attributes.forbidden(
                f"the string value of PreemptionPolicy ({asked_policy}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
        spec["preemptionPolicy"] = policy

    def _class_of(self, attributes: Attributes, spec: Object) -> Object:
        name = spec.get("priorityClassName")
        if name:
            named = self._reader.get(PRIORITY_CLASSES, "", name)
            if named is None:
                raise attributes.forbidden(f"no PriorityClass with name {name} was found")
            return named
        default = self._default_class()
        if default is None:
            return _NO_CLASS
        spec["priorityClassName"] = name_of(default)
        return default

    def _default_class(self) -> Object | None:
        """The default class; should there be several, the one of the lowest value."""
        defaults = [one for one in self._reader.list(PRIORITY_CLASSES) if one.get("globalDefault")]
        return min(defaults, key=lambda one: one.get("value", 0), default=None)


def _keep(spec: Object, old: Object) -> None:
    """What was resolved at creation is not lost by an update that leaves it out."""
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field) is None and old.get(field) is not None:
            spec[field] = old[field]
