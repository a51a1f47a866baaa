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
