"""Pods like one that passed are not checked again, and are refused and warned of as they would be if they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.resources.pods import passed
from apiserver.resources.pods import pod as pods
from apiserver.resources.pods.passed import Passed, text_of
from apiserver.resources.pods.pod import PodStrategy
from kubeloop.apimachinery.meta import Object, deep_copy

TOKEN = "kube-api-access-abcde"
TOKENS = (TOKEN, "kube-api-access-zzzzz", "kube-api-access-ABCDE", "kube-api-access-", "v", 'kube-api-access-"\\de')


def a_pod(token: str = TOKEN) -> Object:
    """As it is when it is checked: decoded, with defaults, and with the volume of its token."""
    container = {
        "name": "c",
        "image": "nginx:1",
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "resources": {"requests": {"memory": "1Mi"}},
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always",
        "volumeMounts": [{"name": token, "mountPath": "/token"}],
    }
    spec = {
        "containers": [container],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
        "serviceAccountName": "default",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": token, "emptyDir": {}}],
    }
    return {"metadata": {"name": "web-1"}, "spec": spec}


def put(*path: Any) -> Callable[[Object, str], None]:
    """Sets what the last but one step leads to; `TOKEN` in it becomes the name of the token's volume."""
    *before, last, value = path

    def change(pod: Object, token: str) -> None:
        holder: Any = pod
        for step in before:
            holder = holder.setdefault(step, {}) if isinstance(step, str) else holder[step]
        named = token if value == TOKEN else deep_copy(value)
        if last == "+":
            holder.append(named)
        else:
            holder[last] = named

    return change


CONTAINER = ("spec", "containers", 0)
PVC = {"name": "p", "persistentVolumeClaim": {"claimName": "web-1-e"}}
EPHEMERAL = {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}
CHANGES = (
    put("metadata", "name", "web-2"),
    put("metadata", "name", "web.2"),
    put("metadata", "annotations", {"a": "b"}),
    put("metadata", "annotations", {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}),
    put("metadata", "annotations", {"container.apparmor.security.beta.kubernetes.io/c": "bad"}),
    put(*CONTAINER, "image", " nginx"),
    put(*CONTAINER, "name", TOKEN),
    put(*CONTAINER, "name", ""),
    put(*CONTAINER, "env", [{"name": "A", "value": TOKEN}]),
    put(*CONTAINER, "env", [{"name": "A", "value": f'"{TOKEN}"'}]),
    put(*CONTAINER, "env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
    put(*CONTAINER, "ports", "+", {"containerPort": 80, "protocol": "TCP"}),
    put(*CONTAINER, "ports", "+", {"containerPort": 0}),
    put(*CONTAINER, "volumeMounts", 0, "name", "v"),
    put(*CONTAINER, "volumeMounts", 0, "name", "zzzzz"),
    put(*CONTAINER, "volumeMounts", 0, "name", "kube-api-access-zzzzz"),
    put(*CONTAINER, "resources", "requests", {"memory": "1500m"}),
    put("spec", "volumes", 0, "name", "kube-api-access-zzzzz"),
    put("spec", "volumes", 0, "name", TOKEN),
    put("spec", "volumes", 0, PVC),
    put("spec", "volumes", "+", EPHEMERAL),
    put("spec", "volumes", "+", {"name": TOKEN, "emptyDir": {}}),
    put("spec", "nodeSelector", {"beta.kubernetes.io/os": "linux"}),
    put("spec", "nodeSelector", {TOKEN: "x"}),
    put("spec", "restartPolicy", "Never!"),
    put("spec", "terminationGracePeriodSeconds", True),
    put("spec", "terminationGracePeriodSeconds", 1),
    put("spec", "ephemeralContainers", [{"name": "d", "image": "nginx"}]),
    put("spec", "nodeName", "node-1"),
    put("spec", "schedulingGates", [{"name": "example.com/a"}]),
)
STRATEGY = PodStrategy()  # remembers from example to example


@given(st.sampled_from(TOKENS), st.lists(st.sampled_from(CHANGES), max_size=2))
def test_what_is_known_to_pass_passes_and_nothing_else_does(
    token: str, changes: list[Callable[[Object, str], None]]
) -> None:
    """A strategy that has seen other pods says of one what a strategy says that has seen none."""
    pod = a_pod(token)
    for change in changes:
        change(pod, token)
    fresh = PodStrategy()

    for _ in range(2):
        assert list(fresh.validate(pod)) == list(STRATEGY.validate(pod))
        assert list(fresh.warnings(pod)) == list(STRATEGY.warnings(pod))
        fresh = PodStrategy()


def test_pods_of_one_workload_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They differ in names: their own, and that of the volume of their token."""
    checked: list[str] = []
    check = pods.check_pod_spec
    monkeypatch.setattr(pods, "check_pod_spec", lambda *given: checked.append(given[1]["name"]) or check(*given))
    strategy = PodStrategy()

    for i, token in enumerate(("kube-api-access-abcde", "kube-api-access-vwxyz", "another")):
        pod = a_pod(token)
        pod["metadata"]["name"] = f"web-{i}"
        assert not strategy.validate(pod)

    assert ["web-0", "web-2"] == checked


def test_the_name_of_a_claim_depends_on_that_of_its_pod() -> None:
    """Such pods are checked each time."""
    pod = a_pod()
    pod["spec"]["volumes"].append(EPHEMERAL)

    assert text_of(pod) == b""


def test_little_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more texts than a bound, and no long ones."""
    monkeypatch.setattr(passed, "MAX_SPECS", 3)
    known = Passed()

    for i in range(10):
        known.add(b"%d" % i)
        assert b"%d" % i in known
    known.add(b"x" * (passed.MAX_BYTES + 1))

    assert [b"9"] == [
        text for text in [b"%d" % i for i in range(10)] + [b"x" * (passed.MAX_BYTES + 1)] if text in known
    ]
