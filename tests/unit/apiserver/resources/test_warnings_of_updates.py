"""Warnings of an update: of what it changes, not of what was warned of at creation."""

from typing import Any

from tests.testkit.exchange import Ask, exchange

APPS = "/apis/apps/v1/namespaces/default/deployments"
NETWORKING = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
OLD_LABEL = "beta.kubernetes.io/os"


def a_deployment(**spec: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {OLD_LABEL: "linux"}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    return {
        "metadata": {"name": "a.b"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec},
    }


def test_a_deployment_is_warned_of_its_template_where_it_changed() -> None:
    """Its name was warned of when it was made."""
    created, same, scaled = exchange(
        Ask("POST", APPS, a_deployment()),
        Ask("PUT", f"{APPS}/a.b", a_deployment()),
        Ask("PUT", f"{APPS}/a.b", a_deployment(replicas=2)),
    )

    assert [len(answer.warnings) for answer in (created, same, scaled)] == [2, 0, 1]
    assert OLD_LABEL in scaled.warnings[0]


def test_an_ingress_is_warned_of_its_annotation_once() -> None:
    """And of odd addresses in its status whenever that is written."""
    ingress = {
        "metadata": {"name": "a", "annotations": {"kubernetes.io/ingress.class": "nginx"}},
        "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    }
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "2001:DB8::1"}]}}}
    created, changed, reported = exchange(
        Ask("POST", NETWORKING, ingress),
        Ask("PATCH", f"{NETWORKING}/a", {"metadata": {"labels": {"x": "y"}}}),
        Ask("PATCH", f"{NETWORKING}/a/status", status),
    )

    assert [len(answer.warnings) for answer in (created, changed, reported)] == [1, 0, 1]
    assert reported.warnings[0].startswith("status.loadBalancer.ingress[0]: IPv6 address")


def test_a_runtime_class_is_warned_of_old_labels() -> None:
    """Those its pods' nodes must have, whenever it is written."""
    path = "/apis/node.k8s.io/v1/runtimeclasses"
    body = {"metadata": {"name": "r"}, "handler": "h", "scheduling": {"nodeSelector": {OLD_LABEL: "linux"}}}
    created, changed = exchange(
        Ask("POST", path, body),
        Ask("PATCH", f"{path}/r", {"metadata": {"labels": {"x": "y"}}}),
    )

    expected = ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead']
    assert list(created.warnings) == expected
    assert list(changed.warnings) == expected


def test_bad_labels_are_told_as_often_as_they_are_looked_at() -> None:
    """The store looks at an object and at its change, a StatefulSet at its change, an APIService at both."""
    api_service = "/apis/apiregistration.k8s.io/v1/apiservices"
    sets = "/apis/apps/v1/namespaces/default/statefulsets"
    spec = {"group": "g.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    service = {"metadata": {"name": "v1.g.example.com"}, "spec": {**spec, "service": {"name": "s", "namespace": "n"}}}
    labelled = {"metadata": {"labels": {"a b": "c"}}}
    *_, of_set, of_service = exchange(
        Ask("POST", sets, {**a_deployment(), "metadata": {"name": "a"}}),
        Ask("POST", api_service, service),
        Ask("PATCH", f"{sets}/a", labelled),
        Ask("PATCH", f"{api_service}/v1.g.example.com", labelled),
    )

    counts = [len(answer.body["details"]["causes"]) for answer in (of_set, of_service)]
    assert counts == [3, 4]
