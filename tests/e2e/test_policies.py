"""Admission policies as people write them, with the real kubectl."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.testkit.stack import Kubectl

pytestmark = pytest.mark.e2e

POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}
    resourceRules: [{{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}}]
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConditions:
  - {{name: no-mesh, expression: "!object.spec.?initContainers.orValue([]).exists(c, c.name == 'mesh')"}}
  mutations:
  - patchType: {patch_type}
    {part}:
      expression: |-
        {expression}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}}}
"""
SIDECAR = (
    'Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "mesh", image: "mesh:1", '
    'restartPolicy: "Always"}]}}'
)
LABEL = (
    '[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/by"), '
    "value: string(authorizer.requestResource.check('create').allowed())}]"
)


@contextmanager
def bound(kubectl: Kubectl, patch_type: str, part: str, expression: str) -> Iterator[None]:
    """Policies belong to the cluster: one that stays would change the pods of other tests."""
    name = f"{kubectl.namespace}-{patch_type.lower()}"
    policy = POLICY.format(
        name=name, namespace=kubectl.namespace, patch_type=patch_type, part=part, expression=expression
    )
    kubectl("apply -f -", policy)
    try:
        yield
    finally:
        kubectl("delete -f -", policy)


def test_a_sidecar_is_put_into_every_pod(kubectl: Kubectl) -> None:
    """An apply configuration adds a container, which gets its token mounted as the others do."""
    with bound(kubectl, "ApplyConfiguration", "applyConfiguration", SIDECAR):
        kubectl("run web --image=nginx")

    (mesh,) = kubectl.json("get pod web")["spec"]["initContainers"]
    assert ("mesh", "Always", "IfNotPresent") == (mesh["name"], mesh["restartPolicy"], mesh["imagePullPolicy"])
    assert ["/var/run/secrets/kubernetes.io/serviceaccount"] == [mount["mountPath"] for mount in mesh["volumeMounts"]]


def test_a_json_patch_adds_a_label(kubectl: Kubectl) -> None:
    """Its value comes from what the authorizer says of the request itself."""
    with bound(kubectl, "JSONPatch", "jsonPatch", LABEL):
        kubectl("run web --image=nginx")

    labels = kubectl.json("get pod web")["metadata"]["labels"]
    assert ("true", "web") == (labels["example.com/by"], labels["run"])


TYPED = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: typed}
spec:
  matchConstraints:
    resourceRules: [{operations: [CREATE], apiGroups: [apps], apiVersions: [v1], resources: [deployments]}]
  validations:
  - expression: object.replicas > 1
"""


def test_fields_that_do_not_exist_are_warned_of(kubectl: Kubectl) -> None:
    """In the status of the policy, as the compiler tells of them."""
    kubectl("create -f -", TYPED)
    try:
        kubectl("wait --for=jsonpath={.status.observedGeneration}=1 validatingadmissionpolicy/typed --timeout=180s")
        described = kubectl("describe validatingadmissionpolicy typed")
    finally:
        kubectl("delete -f -", TYPED)

    assert "spec.validations[0].expression" in described
    assert "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'" in described
