"""Subresources: what is refused of them, and in which words."""

import pytest

from tests.testkit.exchange import STRATEGIC, Answer, Ask, exchange

NAMESPACE = "/api/v1/namespaces/default"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = f"{NAMESPACE}/pods"
CONTAINERS = [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS[:1]}}
NODE = {
    "metadata": {"name": "n"},
    "status": {"addresses": [{"type": "InternalIP", "address": "172.18.0.2"}]},
}
BEFORE = (
    Ask("POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}}),
    Ask("POST", PODS, {"metadata": {"name": "two"}, "spec": {"containers": CONTAINERS}}),
    Ask("POST", PODS, {"metadata": {"name": "lost"}, "spec": {"containers": CONTAINERS[:1], "nodeName": "ghost"}}),
    Ask("POST", "/api/v1/nodes", NODE),
    Ask("POST", PODS, {"metadata": {"name": "there"}, "spec": {"containers": CONTAINERS[:1], "nodeName": "n"}}),
    Ask("POST", f"{NAMESPACE}/services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}),
    Ask(
        "POST",
        DEPLOYMENTS,
        {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}},
    ),
)


def answer(*ask: object) -> Answer:
    return exchange(*BEFORE, Ask(*ask))[-1]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("two/log", 400, "a container name must be specified for pod two, choose one of: [c d]"),
        ("two/log?container=x", 400, "container x is not valid for pod two"),
        ("two/log?container=c", 204, ""),
        ("two/log?sinceSeconds=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        (
            "two/log?tailLines=-1&limitBytes=0",
            422,
            'PodLogOptions "two" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, '
            "limitBytes: Invalid value: 0: must be greater than 0]",
        ),
        ("lost/log", 404, 'nodes "ghost" not found'),
        (
            "there/log?tailLines=1",
            500,
            'Get "https://172.18.0.2:10250/containerLogs/default/there/c?tailLines=1": '
            "dial tcp 172.18.0.2:10250: connect: no route to host",
        ),
        ("there/exec?command=ls", 400, "Upgrade request required"),
        ("there/portforward", 400, "Upgrade request required"),
        ("two/exec?dryRun=All&container=c", 400, "dryRun is not supported"),
        ("two/exec?container=c", 400, "pod two does not have a host assigned"),
        ("two/attach", 400, "a container name must be specified for pod two, choose one of: [c d]"),
        ("ftp:two:80/proxy", 400, 'invalid pod request "ftp:two:80"'),
        ("two:80/proxy", 400, "address not allowed"),
    ],
)
def test_what_a_kubelet_would_answer(path: str, status: int, message: str) -> None:
    """Options, container, node and address are looked at before anybody is asked."""
    got = answer("GET", f"{PODS}/{path}")

    assert (status, message) == (got.status, got.message if got.body else "")


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("s", 404, 'endpoints "s" not found'),
        ("s:81", 503, 'no service port 81 found for service "s"'),
        ("none", 404, 'services "none" not found'),
    ],
)
def test_a_proxied_service_needs_pods(name: str, status: int, message: str) -> None:
    """It is named by itself, with a port, or with a scheme before."""
    got = answer("GET", f"{NAMESPACE}/services/{name}/proxy")

    assert (status, message) == (got.status, got.message)


@pytest.mark.parametrize(
    ("metadata", "status", "part"),
    [
        ({}, 400, "name in URL does not match name in Binding object"),
        ({"name": "two", "namespace": "other"}, 400, "the namespace of the provided object does not match"),
        ({"name": "two", "uid": "x"}, 409, "Key: /registry/pods/default/two, ResourceVersion: 0"),
        ({"name": "two", "resourceVersion": "1"}, 409, "Precondition failed: ResourceVersion in precondition: 1"),
    ],
)
def test_a_binding_means_one_pod(metadata: dict[str, str], status: int, part: str) -> None:
    """By name, namespace, uid and version."""
    got = answer("POST", f"{PODS}/two/binding", {"metadata": metadata, "target": {"name": "n"}})

    assert (status, True) == (got.status, part in got.message)


def test_evictions_of_the_first_version_are_taken() -> None:
    """Old clients send policy/v1beta1."""
    body = {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "two"}}

    assert answer("POST", f"{PODS}/two/eviction", body).status == 201


@pytest.mark.parametrize(
    ("method", "scale", "status", "part"),
    [
        ("PUT", {"metadata": {}}, 400, "name must be provided"),
        ("PUT", {"metadata": {"name": "d", "namespace": "other"}}, 400, "does not match the namespace sent"),
        ("PUT", {"metadata": {"name": "d", "uid": "x"}}, 409, "Key: /registry/deployments/default/d,"),
        ("PATCH", {"metadata": {"uid": "x"}}, 409, 'deployments/scale.apps "d": Precondition failed: UID'),
        ("PATCH", {"metadata": {"labels": {"a b": "c"}}}, 422, 'Scale.autoscaling "d" is invalid: metadata.labels'),
    ],
)
def test_a_scale_means_one_workload(method: str, scale: dict[str, object], status: int, part: str) -> None:
    """A PUT's uid is a precondition of the store, a patch's is held against the workload; metadata must be sound."""
    got = answer(method, f"{DEPLOYMENTS}/d/scale", scale)

    assert (status, True) == (got.status, part in got.message)


def test_scales_are_validated_strictly_too() -> None:
    """Unknown fields are warned about, whatever patch brings them."""
    merged = answer("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"nope": 1}})
    restored = answer("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"nope": 1}}, STRATEGIC)

    assert merged.warnings == restored.warnings == ['unknown field "spec.nope"']
