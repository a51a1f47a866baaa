"""What is allowed in a pod or template but probably not meant: the texts of Warning headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS
from apiserver.resources.pods.affinity import POD_AFFINITIES, PREFERRED, REQUIRED
from apiserver.resources.pods.annotations import APPARMOR, SECCOMP_CONTAINER, SECCOMP_POD, apparmor_field
from apiserver.resources.pods.apparmor import OLD as APPARMOR_OLD
from apiserver.resources.pods.surroundings import all_containers
from apiserver.resources.pods.volume_warnings import volume_warnings
from kubeloop.apimachinery import addresses, quantity, validation
from kubeloop.apimachinery.field import go_quote

Json = Mapping[str, Any]

OLD_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
DEAD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
SECCOMP_GONE = 'non-functional in v1.27+; use the "seccompProfile" field instead'
NULL_SELECTOR = "a null labelSelector results in matching no pod"
BYTES = ("memory", "ephemeral-storage")


def name_warnings(pod: Json) -> list[str]:
    reasons = validation.dns_label_errors(pod["metadata"].get("name", ""))
    if not reasons:
        return []
    return [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
        f"a DNS label is recommended: [{' '.join(reasons)}]"
    ]


def spec_warnings(pod: Json) -> list[str]:
    """Of a pod's spec and annotations."""
    return _of_spec(pod.get("spec") or NO_FIELDS, pod["metadata"], "", is_template=False)


def template_warnings(template: Json | None, path: str) -> list[str]:
    """`path` is the template's, with its last dot: "spec.template."."""
    if not template:
        return []
    return _of_spec(template.get("spec") or NO_FIELDS, template.get("metadata") or NO_FIELDS, path, is_template=True)


def node_selector_term_warnings(term: Json, path: str, *, values: bool) -> Iterator[str]:
    for i, expression in enumerate(term.get("matchExpressions") or NO_ITEMS):
        at, key = f"{path}.matchExpressions[{i}]", expression.get("key", "")
        if key in OLD_NODE_LABELS:
            yield f"{at}.key: {key} is {OLD_NODE_LABELS[key]}"
        if values:
            for j, value in enumerate(expression.get("values") or NO_ITEMS):
                for reason in validation.label_value_errors(value):
                    yield f"{at}.values[{j}]: {value} is invalid, {reason}"


def _of_spec(spec: Json, metadata: Json, prefix: str, *, is_template: bool) -> list[str]:
    path = f"{prefix}spec"
    annotations = metadata.get("annotations") or NO_FIELDS
    return [
        *_old_labels(spec, path),
        *_spreading(spec, path),
        *_old_annotations(annotations, prefix),
        *volume_warnings(spec.get("volumes") or NO_ITEMS, path),
        *_repeated_names(spec, path),
        *_fractions(spec.get("overhead") or NO_FIELDS, f"{path}.overhead"),
        *_old_seccomp(spec, annotations, prefix),
        *_containers(spec, annotations, prefix, is_template),
        *_ports(spec, path),
        *_port_names(spec, path),
        *_grace_period(spec, path),
        *_pod_affinity(spec.get("affinity") or NO_FIELDS, f"{path}.affinity"),
        *_addresses(spec, path),
    ]


def _old_labels(spec: Json, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or NO_FIELDS:
        if key in OLD_NODE_LABELS:
            yield f"{path}.nodeSelector[{key}]: {OLD_NODE_LABELS[key]}"
    nodes = (spec.get("affinity") or NO_FIELDS).get("nodeAffinity") or NO_FIELDS
    at = f"{path}.affinity.nodeAffinity"
    for i, term in enumerate((nodes.get(REQUIRED) or NO_FIELDS).get("nodeSelectorTerms") or NO_ITEMS):
        yield from node_selector_term_warnings(term, f"{at}.{REQUIRED}.nodeSelectorTerms[{i}]", values=False)
    for i, term in enumerate(nodes.get(PREFERRED) or NO_ITEMS):
        preference = term.get("preference") or NO_FIELDS
        yield from node_selector_term_warnings(preference, f"{at}.{PREFERRED}[{i}].preference", values=True)


def _spreading(spec: Json, path: str) -> Iterator[str]:
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or NO_ITEMS):
        at, key = f"{path}.topologySpreadConstraints[{i}]", constraint.get("topologyKey", "")
        if key in OLD_NODE_LABELS:
            yield f"{at}.topologyKey: {key} is {OLD_NODE_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{at}.labelSelector: {NULL_SELECTOR}"


def _old_annotations(annotations: Mapping[str, str], prefix: str) -> Iterator[str]:
    for key, reason in DEAD_ANNOTATIONS.items():
        if key in annotations:
            yield f"{prefix}metadata.annotations[{key}]: {reason}"


def _repeated_names(spec: Json, path: str) -> Iterator[str]:
    aliases, secrets = spec.get("hostAliases") or NO_ITEMS, spec.get("imagePullSecrets") or NO_ITEMS
    for i, ip in _repeated([alias.get("ip", "") for alias in aliases]):
        yield f"{path}.hostAliases[{i}].ip: duplicate ip {go_quote(ip)}"
    names = [secret.get("name", "") for secret in secrets]
    for i, name in _repeated(names):
        yield f"{path}.imagePullSecrets[{i}].name: duplicate name {go_quote(name)}"
    for i, name in enumerate(names):
        if not name:
            yield f'{path}.imagePullSecrets[{i}].name: invalid empty name ""'


def _repeated(values: Sequence[str]) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    for i, value in enumerate(values):
        if value in seen:
            yield i, value
        seen.add(value)


def _fractions(amounts: Json, path: str) -> Iterator[str]:
    for name in BYTES:
        if name in amounts and quantity.milli_value(amounts[name]) % 1000:
            text = go_quote(str(quantity.parse(amounts[name])))
            yield f"{path}[{name}]: fractional byte value {text} is invalid, must be an integer"


def _old_seccomp(spec: Json, annotations: Mapping[str, str], prefix: str) -> Iterator[str]:
    if SECCOMP_POD in annotations and "seccompProfile" not in (spec.get("securityContext") or NO_FIELDS):
        yield f"{prefix}metadata.annotations[{SECCOMP_POD}]: {SECCOMP_GONE}"


def _containers(spec: Json, annotations: Mapping[str, str], prefix: str, is_template: bool) -> Iterator[str]:
    pod_profile = (spec.get("securityContext") or NO_FIELDS).get("appArmorProfile")
    for container, at in all_containers(spec, f"{prefix}spec"):
        context, name = container.get("securityContext") or NO_FIELDS, container.get("name", "")
        key = SECCOMP_CONTAINER + name
        if key in annotations and "seccompProfile" not in context:
            yield f"{prefix}metadata.annotations[{key}]: {SECCOMP_GONE}"
        key = APPARMOR + name
        is_unsaid = key in annotations and "appArmorProfile" not in context
        if is_template and is_unsaid and (pod_profile is None or pod_profile != apparmor_field(annotations[key])):
            yield f"{prefix}metadata.annotations[{key}]: {APPARMOR_OLD}"  # of a new pod `pods.apparmor` warns
        resources = container.get("resources") or NO_FIELDS
        for resource in BYTES:
            for kind in ("limits", "requests"):
                amounts = resources.get(kind) or NO_FIELDS
                if resource in amounts:
                    yield from _fractions({resource: amounts[resource]}, f"{at}.resources.{kind}")
        yield from _hidden_variables(container.get("env") or NO_ITEMS, f"{at}.env")


def _hidden_variables(variables: Sequence[Json], path: str) -> Iterator[str]:
    """A variable that is set twice, unless the second refers to the first and nothing else."""
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        if name not in seen:
            seen.add(name)
        elif "valueFrom" in variable or value == reference or reference not in value:
            yield (f"{path}[{i}]: hides previous definition of {go_quote(name)}, which may be dropped when using apply")


def _ports(spec: Json, path: str) -> Iterator[str]:
    taken: dict[tuple[int, str], list[tuple[str, Json]]] = {}
    for container, container_path in all_containers(spec, path):
        for i, port in enumerate(container.get("ports") or NO_ITEMS):
            at = f"{container_path}.ports[{i}]"
            host_ip, host_port = port.get("hostIP", ""), port.get("hostPort", 0)
            if host_ip and not host_port:
                yield f"{at}: hostIP set without hostPort: {_go_port(port)}"
            others = taken.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            for other_at, other in others:
                other_ip, other_port = other.get("hostIP", ""), other.get("hostPort", 0)
                if (host_ip, host_port) == (other_ip, other_port):
                    yield f"{at}: duplicate port definition with {other_at}"
                elif not host_port or not other_port:
                    yield f"{at}: overlapping port definition with {other_at}"
                elif host_port == other_port and (not host_ip) != (not other_ip):
                    yield f"{at}: dangerously ambiguous port definition with {other_at}"
            others.append((at, port))


def _go_port(port: Json) -> str:
    return (
        f"{{Name:{port.get('name', '')} HostPort:{port.get('hostPort', 0)} "
        f"ContainerPort:{port.get('containerPort', 0)} Protocol:{port.get('protocol', '')} "
        f"HostIP:{port.get('hostIP', '')}}}"
    )


def _port_names(spec: Json, path: str) -> Iterator[str]:
    first: dict[str, str] = {}
    for container, container_path in all_containers(spec, path):
        for i, port in enumerate(container.get("ports") or NO_ITEMS):
            name, at = port.get("name"), f"{container_path}.ports[{i}]"
            if not name:
                continue
            if name in first:
                other = first[name]
                yield (
                    f"{at}: duplicate port name {go_quote(name)} with {other}, "
                    f"services and probes that select ports by name will use {other}"
                )
            else:
                first[name] = at


def _grace_period(spec: Json, path: str) -> Iterator[str]:
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        yield (
            f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        )


def _pod_affinity(affinity: Json, path: str) -> Iterator[str]:
    for name in POD_AFFINITIES:
        terms = affinity.get(name) or NO_FIELDS
        for i, term in enumerate(terms.get(REQUIRED) or NO_ITEMS):
            if term.get("labelSelector") is None:
                yield f"{path}.{name}.{REQUIRED}[{i}].labelSelector: {NULL_SELECTOR}"
        for i, weighted in enumerate(terms.get(PREFERRED) or NO_ITEMS):
            if (weighted.get("podAffinityTerm") or NO_FIELDS).get("labelSelector") is None:
                yield f"{path}.{name}.{PREFERRED}[{i}].podAffinityTerm.labelSelector: {NULL_SELECTOR}"


def _addresses(spec: Json, path: str) -> Iterator[str]:
    for i, server in enumerate((spec.get("dnsConfig") or NO_FIELDS).get("nameservers") or NO_ITEMS):
        yield from addresses.ip_warnings(server, f"{path}.dnsConfig.nameservers[{i}]")
    for i, alias in enumerate(spec.get("hostAliases") or NO_ITEMS):
        yield from addresses.ip_warnings(alias.get("ip", ""), f"{path}.hostAliases[{i}].ip")
