"""PodSecurity: pods that break their namespace's level are refused, workloads whose pods would be are warned of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from apiserver.admission.plugins.namespace_lifecycle import NAMESPACES
from apiserver.admission.pod_security.policy import PREFIX, Policies, Policy, label_errors, may_refuse_more, policies_of
from apiserver.admission.pod_security.violations import describe, violations
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import Invalid
from kubeloop.apimachinery.meta import ReadOnlyObject, controller_of, labels_of, name_of

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

    def _labels(self, namespace: str) -> Mapping[str, str]:
        return labels_of(self._reader.get(NAMESPACES, "", namespace) or {})

    def _check_pod(self, attributes: Attributes, pod: ReadOnlyObject) -> None:
        if attributes.subresource not in _CHECKED_SUBRESOURCES:
            return
        labels = self._labels(attributes.namespace)
        policies = policies_of(labels)
        if policies.are_privileged and not label_errors(labels):
            attributes.annotate(f"{PREFIX}enforce-policy", str(Policy()))
            return
        if attributes.old_object is not None and not _is_significant(pod, attributes.old_object):
            return
        _audit_labels(attributes, labels)
        attributes.annotate(f"{PREFIX}enforce-policy", str(policies.enforce))
        _audit(attributes, policies, pod)
        refused = violations(policies.enforce, pod)
        if refused:
            raise attributes.forbidden(f'violates PodSecurity "{policies.enforce}": {describe(refused)}')
        if policies.warn != policies.enforce:
            _warn(attributes, policies, pod)

    def _check_workload(self, attributes: Attributes, workload: ReadOnlyObject, path: tuple[str, ...]) -> None:
        """Never refused: its pods will be, and the warning tells the one who can still change it."""
        labels = self._labels(attributes.namespace)
        policies = policies_of(labels)
        template: Any = workload
        for step in path:
            template = template.get(step) or {}
        _audit_labels(attributes, labels)
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
        if attributes.operation == UPDATE and may_refuse_more(new_policy, old_policy):
            for text in self._existing_violations(name_of(namespace), new_policy):
                attributes.warn(text)

    def _existing_violations(self, namespace: str, policy: Policy) -> Iterator[str]:
        """One line a kind of violation, with the first pod that has it and how many others do."""
        pods = _varied(self._reader.list(_PODS, namespace))
        names_by_reasons: dict[str, list[str]] = {}
        for pod in pods[:_MOST_PODS]:
            found = violations(policy, pod)
            if found:
                reasons = ", ".join(violation.reason for violation in found)
                names_by_reasons.setdefault(reasons, []).append(name_of(pod))
        if len(pods) > _MOST_PODS:
            count = f"the first {_MOST_PODS} of {len(pods)} existing pods"
            yield f"new PodSecurity enforce level only checked against {count}"
        if names_by_reasons:
            yield f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{policy}"'
        yield from sorted(_counted(names, reasons) for reasons, names in names_by_reasons.items())


def _varied(pods: Iterable[ReadOnlyObject]) -> Sequence[ReadOnlyObject]:
    """The pods, those that are alike because one controller made them last."""
    first: list[ReadOnlyObject] = []
    alike: list[ReadOnlyObject] = []
    controllers: set[str] = set()
    for pod in pods:
        controller = (controller_of(pod) or {}).get("uid")
        (alike if controller in controllers else first).append(pod)
        if controller is not None:
            controllers.add(controller)
    return first + alike


def _counted(names: Sequence[str], reasons: str) -> str:
    others = len(names) - 1
    more = f" (and {others} other {'pod' if others == 1 else 'pods'})" if others else ""
    return f"{min(names)}{more}: {reasons}"


def _audit_labels(attributes: Attributes, labels: Mapping[str, str]) -> None:
    """Say which labels nobody understands: the namespace had them before they were looked at."""
    errors = [str(error) for error in dict.fromkeys(label_errors(labels))]
    if errors:
        text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        attributes.annotate(f"{PREFIX}error", f"Failed to parse policy: {text}")


def _audit(attributes: Attributes, policies: Policies, pod: ReadOnlyObject) -> None:
    found = violations(policies.audit, pod)
    if found:
        text = f'would violate PodSecurity "{policies.audit}": {describe(found)}'
        attributes.annotate(f"{PREFIX}audit-violations", text)


def _warn(attributes: Attributes, policies: Policies, pod: ReadOnlyObject) -> None:
    found = violations(policies.warn, pod)
    if found:
        attributes.warn(f'would violate PodSecurity "{policies.warn}": {describe(found)}')


def _is_significant(pod: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    """Whether an update can change the verdict: most of a pod cannot be changed, images can."""
    if any(_images(pod, field) != _images(old, field) for field in ("containers", "initContainers")):
        return True
    debuggers = dict(_images(old, "ephemeralContainers"))
    return any(name not in debuggers or debuggers[name] != image for name, image in _images(pod, "ephemeralContainers"))


def _images(pod: ReadOnlyObject, field: str) -> list[tuple[str, str]]:
    spec = pod.get("spec") or {}
    return [(one.get("name", ""), one.get("image", "")) for one in spec.get(field) or ()]
