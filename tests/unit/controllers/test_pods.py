"""What the loops ask of a pod."""

import pytest

from controllers import pods
from kubeloop.apimachinery.meta import Object

READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
OWNER = {"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}


def a_pod(metadata: Object | None = None, spec: Object | None = None, status: Object | None = None) -> Object:
    return {"metadata": {"name": "web-1", **(metadata or {})}, "spec": spec or {}, "status": status or {}}


@pytest.mark.parametrize(
    ("new", "counts"),
    [
        (a_pod({"resourceVersion": "9", "annotations": {"a": "b"}}), False),
        (a_pod(spec={"nodeName": "node-0"}), False),
        (a_pod(status={"podIP": "10.0.0.1", "conditions": [{"type": "PodScheduled", "status": "True"}]}), False),
        (a_pod(status={"phase": "Running"}), True),
        (a_pod(status={"conditions": [READY]}), True),
        (a_pod({"labels": {"app": "web"}}), True),
        (a_pod({"ownerReferences": [OWNER]}), True),
        (a_pod({"deletionTimestamp": "2026-01-01T00:00:00Z"}), True),
        (a_pod({"uid": "another"}), True),
    ],
)
def test_owners_of_replicas_hear_of_what_they_count(new: Object, counts: bool) -> None:
    """Whose a pod is, whether it lives and is ready: other changes spare them a look at all their pods."""
    assert counts is pods.counts_otherwise(a_pod(), new)
