"""DaemonSets and their pods in a word: `a_situation({"a": "R", "b": "rN"}, surge=1)`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from controllers.daemon_set.model import DaemonSpec, Situation
from controllers.daemon_set.pod import new_pod
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.workloads import NOW, a_template, seconds_ago

OLD, NEW = "old", "new"
READY_SECONDS = 30


def a_daemon_set(**fields: Any) -> Object:
    """`surge`, `unavailable`, `strategy`, `annotations`, `status`, `pod` (of the template's spec); the rest is spec."""
    strategy: Object = {"type": fields.pop("strategy", "RollingUpdate")}
    if strategy["type"] == "RollingUpdate":
        settings = {"maxSurge": fields.pop("surge", 0), "maxUnavailable": fields.pop("unavailable", 1)}
        strategy["rollingUpdate"] = settings
    metadata = {"name": "d", "namespace": "default", "uid": "set", "generation": 2}
    metadata["annotations"] = fields.pop("annotations", {})
    template, status = a_template("2", **fields.pop("pod", {})), fields.pop("status", {})
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template, "updateStrategy": strategy}
    kind = {"apiVersion": "apps/v1", "kind": "DaemonSet"}
    return {**kind, "metadata": metadata, "spec": {**spec, "revisionHistoryLimit": 10, **fields}, "status": status}


def a_node(name: str, *taints: str, **labels: str) -> Object:
    """`taints`: `key:effect`."""
    parts = [taint.split(":") for taint in taints]
    spec = {"taints": [{"key": key, "effect": effect} for key, effect in parts]} if taints else {}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def a_member(daemon_set: Object, node: str, state: str, age: int) -> Object:
    """A letter: Ready, Not ready, Pending (nowhere yet), Failed, Succeeded, Terminating; small: of the old template."""
    pod = new_pod(daemon_set, node, OLD if state.islower() else NEW, "")
    letter = state.upper()
    described = {"name": f"{node}{state}{age}", "uid": f"{node}{state}{age}", "creationTimestamp": seconds_ago(age)}
    if letter == "T":
        described["deletionTimestamp"] = seconds_ago(1)
    pod["metadata"] = {**pod["metadata"], **described}
    if letter != "P":
        pod["spec"]["nodeName"] = node
    phase = {"P": "Pending", "F": "Failed", "S": "Succeeded"}.get(letter, "Running")
    ready = {"type": "Ready", "status": "True" if letter in "RT" else "False"}
    pod["status"] = {"phase": phase, "conditions": [{**ready, "lastTransitionTime": seconds_ago(READY_SECONDS)}]}
    return pod


def a_situation(
    pods: Mapping[str, str], without: Collection[str] = (), missing: Collection[str] = (), **fields: Any
) -> Situation:
    """`pods`: the letters of each node's pods, the oldest first; `without`: tainted NoExecute; `missing`: gone."""
    daemon_set = a_daemon_set(**fields)
    nodes = [a_node(name, "k:NoExecute") if name in without else a_node(name) for name in pods if name not in missing]
    found = [
        a_member(daemon_set, node, state, 90 - i) for node, states in pods.items() for i, state in enumerate(states)
    ]
    return Situation.of(DaemonSpec.of(daemon_set), NEW, nodes, found, NOW)


def names(pods: Collection[Object]) -> list[str]:
    """Node and letter of each pod, sorted."""
    return sorted(pod["metadata"]["name"][:-2] for pod in pods)
