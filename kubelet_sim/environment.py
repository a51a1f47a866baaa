"""The environment of a container, and its command with that in it. Pure.

Facts of makeEnvironmentVariables in pkg/kubelet/kubelet_pods.go and of third_party/forked/golang/expansion (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kubelet_sim.naming import hostname
from kubelet_sim.shell.world import PATH
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of, labels_of
from kubeloop.apimachinery.quantity import parse

Json = Mapping[str, Any]
# (ConfigMap or Secret, name) -> what it holds, as text; what is not there was optional, or is not known.
Data = Mapping[tuple[str, str], Mapping[str, str]]

_LIMITED = ("cpu", "memory", "ephemeral-storage")
_REFERENCE = re.compile(r"\$(\$|\(([^()]+)\))")
_OF_SERVICES = re.compile(r"_(SERVICE|PORT)(_|$)")
_OF_FIELDS = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_SOURCES = (("configMapRef", "ConfigMap"), ("secretRef", "Secret"))
_KEYS = (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret"))


def environment(
    pod: ReadOnlyObject, container: Json, data: Data | None = None, given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """By name, in the order in which a container has them. `given`: what its runtime has for every container."""
    data = data or {}
    known = {**(of_simulated(pod) if given is None else given)}
    for source in container.get("envFrom") or ():
        for word, kind in _SOURCES:
            if word in source:
                found = data.get((kind, source[word].get("name") or ""), {})
                known |= {(source.get("prefix") or "") + name: text for name, text in found.items()}
    for variable in container.get("env") or ():
        text = _value(variable, pod, container, data)
        known[variable["name"]] = expanded(text, known)
    return known


def of_simulated(pod: ReadOnlyObject) -> Mapping[str, str]:
    """What the runtime of a simulated container has for it, but for what only the API knows."""
    return {
        "PATH": PATH,
        "HOSTNAME": hostname(pod),
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
        "HOME": "/root",
    }


def command_of(container: Json, known: Mapping[str, str]) -> list[str]:
    """`command` and `args`, with `$(NAME)` in them replaced."""
    return [expanded(word, known) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]


def expanded(text: str, known: Mapping[str, str]) -> str:
    """`$(NAME)` becomes what NAME is, where there is one; `$$` is a dollar that begins nothing."""

    def replaced(match: re.Match[str]) -> str:
        return "$" if match[1] == "$" else known.get(match[2], match[0])

    return _REFERENCE.sub(replaced, text) if "$" in text else text


def _value(variable: Json, pod: ReadOnlyObject, container: Json, data: Data) -> str:
    source = variable.get("valueFrom") or {}
    for word, kind in _KEYS:
        if word in source:
            return data.get((kind, source[word].get("name") or ""), {}).get(source[word].get("key") or "", "")
    if "fieldRef" in source:
        return field_value(pod, source["fieldRef"].get("fieldPath") or "")
    if "resourceFieldRef" in source:
        return resource_value(container, source["resourceFieldRef"])
    return variable.get("value") or ""


def field_value(pod: ReadOnlyObject, path: str) -> str:
    """Of the downward API."""
    if found := _OF_FIELDS.fullmatch(path):
        marks = labels_of(pod) if found[1] == "labels" else annotations_of(pod)
        return marks.get(found[2], "")
    if path in ("metadata.labels", "metadata.annotations"):
        marks = labels_of(pod) if path.endswith("labels") else annotations_of(pod)
        return "\n".join(f"{name}={go_quote(text)}" for name, text in sorted(marks.items()))
    if path in ("status.podIPs", "status.hostIPs"):
        return ",".join(one["ip"] for one in (pod.get("status") or {}).get(path.partition(".")[2]) or ())
    value: Any = pod
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return str(value) if value is not None else ""


def with_node_limits(pod: ReadOnlyObject, allocatable: Mapping[str, str]) -> Object:
    """The pod as the downward API tells of it: a container without a limit may have all that its node can give."""
    spec = dict(pod["spec"])
    limits = {name: allocatable[name] for name in _LIMITED if name in allocatable}
    for field in ("initContainers", "containers"):
        if field in spec:
            spec[field] = [_with_limits(one, limits) for one in spec[field]]
    return {**pod, "spec": spec}


def _with_limits(container: Json, limits: Mapping[str, str]) -> Json:
    resources = container.get("resources") or {}
    return {**container, "resources": {**resources, "limits": {**limits, **(resources.get("limits") or {})}}}


def downward(pod: ReadOnlyObject, item: Json) -> str:
    """What a file of a volume says of the pod, or of the container that the item names; "" where there is none."""
    if "fieldRef" in item:
        return field_value(pod, item["fieldRef"].get("fieldPath") or "")
    source = item.get("resourceFieldRef") or {}
    containers = (*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ()))
    named = (one for one in containers if one["name"] == source.get("containerName"))
    return next((resource_value(one, source) for one in named), "")


def resource_value(container: Json, source: Json) -> str:
    """A request or limit in units of the divisor, rounded up."""
    what, _, name = (source.get("resource") or "").partition(".")
    resources = container.get("resources") or {}
    amount = (resources.get(what) or {}).get(name) or "0"
    divisor = str(source.get("divisor") or "1")
    whole, unit = parse(str(amount)), parse("1" if divisor == "0" else divisor)
    if name == "cpu":
        return str(-(-whole.milli_value() // unit.milli_value()))
    return str(-(-whole.value() // unit.value()))


def mounted_at(container: Json, known: Mapping[str, str] = MappingProxyType({})) -> Sequence[tuple[str, str, str]]:
    """(volume, path, subPath) of what is mounted. `known`: the container's environment, which a subPathExpr names."""
    return [
        (mount["name"], mount.get("mountPath") or "/", _sub_path(mount, known))
        for mount in container.get("volumeMounts") or ()
    ]


def sub_path_error(container: Json) -> str:
    """Why one of its mounts cannot be made: a subPathExpr names variables that it does not have, or that are empty.

    Nothing is said of one that takes variables from ConfigMaps and Secrets as they are.
    """
    if container.get("envFrom"):
        return ""
    declared = {one["name"] for one in container.get("env") or () if one.get("value") or one.get("valueFrom")}
    for mount in container.get("volumeMounts") or ():
        named = {match[2] for match in _REFERENCE.finditer(mount.get("subPathExpr") or "") if match[2]}
        missing = sorted(name for name in named - declared if not _OF_SERVICES.search(name))
        if missing:
            return f"missing value for {', '.join(missing)}"
    return ""


def _sub_path(mount: Json, known: Mapping[str, str]) -> str:
    return mount.get("subPath") or expanded(mount.get("subPathExpr") or "", known)


def literals(container: Mapping[str, Any]) -> Mapping[str, str]:
    """The variables of its environment that are written out."""
    return {one["name"]: one["value"] for one in container.get("env") or () if one.get("value")}
