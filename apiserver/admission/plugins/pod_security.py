"""PodSecurity: pods that break their namespace's level are refused, workloads whose pods would be are warned of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from apiserver.admission.plugins.namespace_lifecycle import NAMESPACES
from apiserver.admission.pod_security.policy import PREFIX, Policies, Policy, is_stricter, label_errors, policies_of
from apiserver.admission.pod_security.violations import describe, violations
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import Invalid
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, labels_of, name_of

_PODS = "pods"
_CHECKED_SUBRESOURCES = ("", "ephemeralcontainers", "resize")
# Where each kind of workload keeps its pod template.
_TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "podtemplates": ("template",),
    "replicasets.apps": ("spec", "template"),
    "replicationcontrollers": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
}
_MOST_PODS = 3000  # looked at when a namespace becomes stricter


class PodSecurity(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({NAMESPACES, _PODS, *_TEMPLATES})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def validate(self, attributes: Attributes) -> None:
        resource = str(attributes.resource)
        if attributes.object is None:
            return
        if resource == NAMESPACES:
            self._check_namespace(attributes, attributes.object)
        elif resource == _PODS:
            self._check_pod(attributes, attributes.object)
        elif not attributes.subresource:
            self._check_workload(attributes, attributes.object, _TEMPLATES[resource])

    def _policies(self, namespace: str) -> Policies:
        found = self._reader.get(NAMESPACES, "", namespace)
        return policies_of(labels_of(found)) if found is not None else Policies()

    def _check_pod(self, attributes: Attributes, pod: ReadOnlyObject) -> None:
        if attributes.subresource not in _CHECKED_SUBRESOURCES:
            return
        if attributes.old_object is not None and not _is_significant(pod, attributes.old_object):
            return
        policies = self._policies(attributes.namespace)
        attributes.annotate(f"{PREFIX}enforce-policy", str(policies.enforce))
        _audit(attributes, policies, pod)
        refused = violations(policies.enforce, pod)
        if refused:
            raise attributes.forbidden(f'violates PodSecurity "{policies.enforce}": {describe(refused)}')
        if policies.warn != policies.enforce:
            _warn(attributes, policies, pod)

    def _check_workload(self, attributes: Attributes, workload: ReadOnlyObject, path: tuple[str, ...]) -> None:
        """Never refused: its pods will be, and the warning tells the one who can still change it."""
        template: Any = workload
        for step in path:
            template = template.get(step) or {}
        policies = self._policies(attributes.namespace)
        _audit(attributes, policies, template)
        _warn(attributes, policies, template)

    def _check_namespace(self, attributes: Attributes, namespace: ReadOnlyObject) -> None:
        """The labels make sense; pods already there that a stricter level would refuse are warned of."""
        if attributes.subresource:
            return
        old = labels_of(attributes.old_object or {})
        errors = label_errors(labels_of(namespace))
        if errors and (attributes.operation == CREATE or errors != label_errors(old)):
            raise Invalid.of("Namespace", "", name_of(namespace), errors)
        new_policy, old_policy = policies_of(labels_of(namespace)).enforce, policies_of(old).enforce
        if attributes.operation == UPDATE and is_stricter(new_policy, old_policy):
            for text in self._existing_violations(name_of(namespace), new_policy):
                attributes.warn(text)

    def _existing_violations(self, namespace: str, policy: Policy) -> Iterator[str]:
        """One line a kind of violation, with the first pod that has it and how many others do."""
        pods_by_violation: dict[str, list[str]] = {}
        for count, pod in enumerate(self._reader.list(_PODS, namespace)):
            if count == _MOST_PODS:
                break
            found = violations(policy, pod)
            if found:
                reasons = ", ".join(violation.reason for violation in found)
                pods_by_violation.setdefault(reasons, []).append(name_of(pod))
        if pods_by_violation:
            yield f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{policy}"'
        for reasons, names in sorted(pods_by_violation.items(), key=lambda item: item[1][0]):
            others = len(names) - 1
            more = f" (and {others} other {'pod' if others == 1 else 'pods'})" if others else ""
            yield f"{names[0]}{more}: {reasons}"


def _audit(attributes: Attributes, policies: Policies, pod: ReadOnlyObject) -> None:
    if policies.audit.is_privileged:
        return
    found = violations(policies.audit, pod)
    if found:
        text = f'would violate PodSecurity "{policies.audit}": {describe(found)}'
        attributes.annotate(f"{PREFIX}audit-violations", text)


def _warn(attributes: Attributes, policies: Policies, pod: ReadOnlyObject) -> None:
    found = violations(policies.warn, pod)
    if found:
        attributes.warn(f'would violate PodSecurity "{policies.warn}": {describe(found)}')


def _is_significant(pod: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    """Whether an update can change the verdict: most of a pod cannot be changed."""
    return _significant(pod) != _significant(old)


def _significant(pod: ReadOnlyObject) -> tuple[Any, ...]:
    spec = pod.get("spec") or {}
    fields = ("initContainers", "containers", "ephemeralContainers")
    images = [[(one.get("name"), one.get("image")) for one in spec.get(field) or ()] for field in fields]
    annotations = {key: value for key, value in annotations_of(pod).items() if "apparmor" in key or "seccomp" in key}
    return images, annotations
