"""StatefulSets and their pods in a word: `a_set(3)` and `members("RRn")`."""

from __future__ import annotations

from typing import Any

from controllers.stateful_set.identity import new_pod
from controllers.stateful_set.model import Revisions, SetSpec
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.workloads import a_template, seconds_ago

OLD, NEW = "web-old", "web-new"
REVISIONS = Revisions(OLD, a_template("1"), NEW, a_template("2"))
READY_SECONDS = 30


def a_set(replicas: int = 3, **fields: Any) -> SetSpec:
    """`parallel`, `strategy`, `partition`, `unavailable`, `status`, `deleted`; the rest is spec."""
    metadata: Object = {"name": "web", "namespace": "default", "uid": "set", "generation": 2}
    if fields.pop("deleted", False):
        metadata["deletionTimestamp"] = seconds_ago(1)
    strategy: Object = {"type": fields.pop("strategy", "RollingUpdate")}
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {"partition": fields.pop("partition", 0)}
        if "unavailable" in fields:
            strategy["rollingUpdate"]["maxUnavailable"] = fields.pop("unavailable")
    spec = {
        "replicas": replicas,
        "serviceName": "web",
        "podManagementPolicy": "Parallel" if fields.pop("parallel", False) else "OrderedReady",
        "updateStrategy": strategy,
        "selector": {"matchLabels": {"app": "web"}},
        "template": a_template("2"),
        "revisionHistoryLimit": 10,
    }
    status = fields.pop("status", {})
    kind = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    return SetSpec.of({**kind, "metadata": metadata, "spec": {**spec, **fields}, "status": status})


def a_member(spec: SetSpec, ordinal: int, state: str) -> Object:
    """A letter: Ready, Not ready, Pending, Failed, Succeeded, Terminating (and ready); small: of the old template."""
    pod = new_pod(spec, REVISIONS, ordinal)
    pod["metadata"]["labels"]["controller-revision-hash"] = OLD if state.islower() else NEW
    pod["metadata"]["uid"] = f"uid-{ordinal}"
    letter = state.upper()
    if letter == "T":
        pod["metadata"]["deletionTimestamp"] = seconds_ago(1)
    phase = {"P": "Pending", "F": "Failed", "S": "Succeeded"}.get(letter, "Running")
    status = {"type": "Ready", "status": "True" if letter in "RT" else "False"}
    pod["status"] = {"phase": phase, "conditions": [{**status, "lastTransitionTime": seconds_ago(READY_SECONDS)}]}
    return pod


def members(spec: SetSpec, states: str, first: int = 0) -> list[Object]:
    """One letter for each ordinal, `-` where there is no pod."""
    numbered = enumerate(states, first)
    return [a_member(spec, ordinal, state) for ordinal, state in numbered if state != "-"]
