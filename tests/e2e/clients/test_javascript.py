"""@kubernetes/client-node, the official client for JavaScript, unmodified: programs of a page each (`javascript/`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.testkit.eventually import eventually
from tests.testkit.javascript import JavaScript
from tests.testkit.stack import ROOT, Kubectl, Stack

pytestmark = pytest.mark.e2e

CRD = Path(__file__).parent / "charts" / "operator" / "crds" / "caches.yaml"


@pytest.fixture
def javascript(kubectl: Kubectl) -> JavaScript:
    return JavaScript(kubectl)


@pytest.mark.client("@kubernetes/client-node", "the typed API")
def test_typed_calls_do_what_they_say(javascript: JavaScript) -> None:
    """Verbs, subresources, pages, tokens and errors, with the times that the client makes of what it reads."""
    answer = javascript("typed")

    groups = answer.pop("groups")
    assert {
        "created": True,
        "replicas": 2,
        "errors": [[409, "Conflict"], [404, "NotFound"], [422, "Invalid"]],
        "service": ["ClusterIP", "http"],
        "pages": [2, 1, 0],
        "ready": True,
        "token": 3,
        "expires": True,
        "who": answer["who"],
        "version": "36",
    } == answer
    assert "system:authenticated" in answer["who"]
    assert {"apps", "batch", "coordination.k8s.io"} <= set(groups)


@pytest.mark.client("@kubernetes/client-node", "patches of all four sorts")
def test_every_sort_of_patch_is_taken(javascript: JavaScript) -> None:
    """By its content type; a failed test, a conflict and a dry run too."""
    assert {
        "strategic": ["log", "web"],
        "merge": {"tier": "front"},
        "json": 2,
        "failed": 422,
        "conflict": [409, [".spec.replicas"]],
        "applied": [5, "Apply"],
        "dry": [9, 5],
    } == javascript("patches")


@pytest.mark.client("@kubernetes/client-node", "watches")
def test_a_watch_shows_what_happens_after_a_list(javascript: JavaScript) -> None:
    """From its revision on, once each, in order."""
    assert [["ADDED", "seen", "1"], ["MODIFIED", "seen", "2"], ["DELETED", "seen", "2"]] == javascript("watch")


@pytest.mark.client("@kubernetes/client-node", "informers, across a kill -9 of the API server")
def test_an_informer_goes_on_after_the_server_died(javascript: JavaScript, stack: Stack) -> None:
    """What came before, meanwhile and afterwards is told once."""
    kubectl = javascript.kubectl
    _write(kubectl, "before", "1")
    with javascript.answers("informer") as answers:
        assert [["add", "before", "1"], ["started", ["before"]]] == [next(answers), next(answers)]
        _write(kubectl, "before", "2")
        assert ["update", "before", "2"] == next(answers)

        stack.kill("apiserver")
        assert ["error"] == next(answers)
        eventually(lambda: kubectl("get --raw /readyz") == "ok", "the API server is back")
        _write(kubectl, "after", "3")
        kubectl("delete configmap before")

        assert {("add", "after", "3"), ("delete", "before", "2")} == {_told(answers), _told(answers)}


@pytest.mark.client("@kubernetes/client-node", "exec, logs and port-forward")
def test_streams_lead_into_pods(javascript: JavaScript) -> None:
    """Both outputs, the input and the exit code of a command; a log at once and as it grows; a forwarded port."""
    kubectl = javascript.kubectl
    annotations = {"kubeloop.io/log": "first\nafter 200ms: second"}
    container = {"name": "web", "image": "nginx", "ports": [{"containerPort": 80}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "annotations": annotations}}
    kubectl("apply -f -", json.dumps({**pod, "spec": {"containers": [container]}}))
    kubectl("wait --for=condition=Ready pod/web --timeout=180s")
    eventually(lambda: "second" in kubectl("logs web"), "it has logged both lines")

    assert {
        "hello": ["hello\n", "oops\n", "Success", "0"],
        "input": ["typed\n", "", "Success", "0"],
        "failed": ["", "", "Failure", "3"],
        "log": "second\n",
        "followed": ["first", "second"],
        "page": True,
    } == javascript("streams", "web")


@pytest.mark.client("@kubernetes/client-node", "objects of any kind, custom ones too")
def test_objects_need_no_types(javascript: JavaScript) -> None:
    """From YAML, and of a kind that the client knows from discovery only."""
    kubectl = javascript.kubectl
    kubectl(f"apply -f {CRD}")
    kubectl("wait --for=condition=Established crd/caches.cache.example.com --timeout=180s")

    answer = javascript("objects", str(ROOT / "examples" / "web" / "web.yaml"))
    kubectl("delete crd caches.cache.example.com")

    assert {
        "created": ["Deployment/web", "Service/web"],
        "specs": [
            {"size": 3, "policy": "LRU"},
            {"size": 4, "policy": "LRU"},
            {"size": 4, "policy": "LFU"},
            {"size": 7, "policy": "LRU"},
        ],
        "listed": ["sessions"],
        "status": {"size": 7},
        "errors": [422, 404],
    } == answer


@pytest.mark.client("@kubernetes/client-node", "leases")
def test_leases_are_taken_by_one(javascript: JavaScript) -> None:
    """With times in microseconds; who holds an older version is refused."""
    assert {"holders": ["alice", "alice", "bob"], "late": 409, "renewed": True} == javascript("leases")


def _write(kubectl: Kubectl, name: str, value: str) -> None:
    metadata = {"name": name, "labels": {"watched": "yes"}}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}}
    kubectl("apply -f -", json.dumps(config_map))


def _told(answers: Iterator[Any]) -> tuple[str, ...]:
    """The next one that is no failure to reach the server."""
    return tuple(next(answer for answer in answers if answer != ["error"]))
