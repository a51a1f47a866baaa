"""Whole applications as people write them, through the real kubectl: applied on either side, changed, moved, deleted.

Where kubectl says that something changed although nothing did, or that managers are in each other's way, it says so at
a real server too: it compares what is in the file with what the server made of it. Each of these is listed, with why.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from tests.testkit.eventually import eventually
from tests.testkit.manifests import APPLICATIONS as FOLDER
from tests.testkit.manifests import await_no_difference, conflicts_of, left_in, objects_of, said, stored
from tests.testkit.stack import Kubectl, Stack, await_furniture

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # a story is some twenty commands, each about all its objects

AT_ONCE = 3  # stories; each is a kubectl at a time, and there are not many cores


class Application(NamedTuple):
    folder: str
    ready: tuple[str, ...]
    """What `kubectl wait` is asked for."""
    configured: frozenset[str] = frozenset()
    """What a second client-side apply sends again."""
    conflicts: frozenset[str] = frozenset()
    """Fields of which the server made something else, so that server-side apply takes them for changed."""
    left: frozenset[str] = frozenset()
    """What remains of it."""
    namespace: str = ""
    """The one that its objects name; else it goes wherever one likes."""


DEPLOYED = "--for=condition=Available deployment --all"
DONE = "--for=condition=Complete job --all"

APPLICATIONS = (
    Application("shop", (DEPLOYED,)),  # the longest story, so the first
    Application("guestbook", (DEPLOYED,)),
    Application(
        "job-queue",
        (DONE, "--for=condition=Ready pod/queue"),
        configured=frozenset(
            {
                "job.batch/strict",  # rules are one value, of which the server says more (status: "True")
                "pod/queue",  # 0.1 has become 100m
            }
        ),
        conflicts=frozenset(
            {
                ".spec.podFailurePolicy.rules",
                '.spec.containers[name="queue"].resources.limits.cpu',
                '.spec.containers[name="queue"].resources.requests.cpu',
            }
        ),
    ),
    Application(
        "database",
        ("--for=jsonpath={.status.availableReplicas}=3 statefulset/database",),
        configured=frozenset(
            {
                "configmap/database",  # the line ends in its base64 are gone
                "secret/database",  # stringData is only for writing
                "statefulset.apps/database",  # claims are one value, with defaults in it and 0.5Gi as 512Mi
                "poddisruptionbudget.policy/database",  # kubectl replaces its selector as a whole
            }
        ),
        conflicts=frozenset({".binaryData.logo.png", ".spec.volumeClaimTemplates"}),
        left=frozenset(f"persistentvolumeclaims/data-database-{i}" for i in range(3)),
    ),
    Application(
        "notation",
        (DEPLOYED,),
        configured=frozenset(
            {
                "endpoints/legacy-outside",  # subsets are one value, in which ports have a protocol now
                # amounts that have another spelling
                "deployment.apps/quantities",
                "resourcequota/quantities",
                "limitrange/quantities",
            }
        ),
        conflicts=frozenset(
            {
                ".subsets",
                ".spec.hard.count/configmaps",
                ".spec.hard.pods",
                ".spec.limits",
                *(
                    f'.spec.template.spec.containers[name="{name}"].resources.{amount}'
                    for name in ("one", "two")
                    for amount in (
                        "limits.ephemeral-storage",
                        "requests.cpu",
                        "requests.ephemeral-storage",
                        "requests.memory",
                    )
                ),
            }
        ),
    ),
    Application(
        "ingress-controller",
        (DEPLOYED, DONE),
        configured=frozenset(
            {
                "configmap/doorman",  # data: null is nothing to the server
                "deployment.apps/doorman",  # and so is minReadySeconds: 0
                # its rules are one value, and have a scope now
                "validatingwebhookconfiguration.admissionregistration.k8s.io/doorman-admission",
            }
        ),
        conflicts=frozenset(
            {
                '.webhooks[name="validate.ingresses.example.com"].rules',
                # a reference is one value, and has an apiVersion now
                *(
                    f'.spec.template.spec.containers[name="{container}"].env[name="{variable}"].valueFrom.fieldRef'
                    for container, variable in (
                        ("controller", "POD_NAME"),
                        ("controller", "POD_NAMESPACE"),
                        ("create", "POD_NAMESPACE"),
                        ("patch", "POD_NAMESPACE"),
                    )
                ),
            }
        ),
        namespace="ingress-doorman",
    ),
)


def test_files_and_tables_agree() -> None:
    """Every application is tried here and told of in the README, and each file says what it shows."""
    folders = {file.parent.name for file in FOLDER.glob("*/*.yaml")}
    readme = (FOLDER / "README.md").read_text()

    assert {application.folder for application in APPLICATIONS} | {"operator", "guestbook-staging"} == folders
    assert not [folder for folder in folders if f"| [`{folder}`]({folder}) |" not in readme]
    assert not [file for file in FOLDER.rglob("*.yaml") if "# " not in file.read_text()[:10]]


# --- each application, from its first apply to its end, several of them next to one another


class ByClient(NamedTuple):
    """What came of client-side apply."""

    created: set[str]
    configured: set[str]
    unchanged: set[str]
    conflicts: set[str]
    managers: set[str]
    left: set[str]


class ByServer(NamedTuple):
    """What came of server-side apply."""

    applied: set[str]
    again: set[str]
    rewritten: set[str]


class Story(NamedTuple):
    objects: set[str]
    by_client: ByClient
    by_server: ByServer


@pytest.fixture(scope="module")
def stories(stack: Stack) -> Iterator[dict[str, Future[Story]]]:
    """All of them are begun at once; a test waits for its own."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {application.folder: pool.submit(_told, stack, application) for application in APPLICATIONS}


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda application: application.folder)
def test_an_application_is_applied_taken_over_and_deleted(
    stories: dict[str, Future[Story]], application: Application
) -> None:
    """Created, ready, unchanged by another apply, without a diff, taken over by server-side apply, deleted
    without leaving anything; and once more by server-side apply alone, whose repetition writes nothing."""
    objects, by_client, by_server = stories[application.folder].result()

    assert objects == by_client.created
    assert application.configured == by_client.configured
    assert objects - application.configured == by_client.unchanged
    assert application.conflicts == by_client.conflicts
    assert {"kubectl", "kubectl-last-applied"} == by_client.managers
    assert application.left == by_client.left
    assert objects == by_server.applied == by_server.again
    assert set() == by_server.rewritten


def _told(stack: Stack, application: Application) -> Story:
    """First by client-side apply, then by server-side apply; in the end nothing is there any more."""
    files = f"-f {FOLDER / application.folder}"
    with _kubectl(stack, application, "client") as kubectl:
        objects = objects_of(kubectl, files)
        by_client = _by_client(stack, kubectl, application, files)
    with _kubectl(stack, application, "server") as kubectl:
        by_server = _by_server(kubectl, application, files)
        if application.namespace:
            kubectl(f"delete --timeout=180s --ignore-not-found {files}")
    return Story(objects, by_client, by_server)


def _by_client(stack: Stack, kubectl: Kubectl, application: Application, files: str) -> ByClient:
    created = said(kubectl(f"apply {files}"), "created")
    _wait(kubectl, application)
    again = kubectl(f"apply {files}")
    await_no_difference(kubectl, f"diff {files}")
    conflicts = conflicts_of(kubectl, f"apply --server-side {files}")
    kubectl(f"apply --server-side --force-conflicts {files}")
    managers = _managers(kubectl, files)
    kubectl(f"delete --timeout=180s --ignore-not-found {files}")
    left = _left(stack, kubectl, application)
    return ByClient(created, said(again, "configured"), said(again, "unchanged"), conflicts, managers, left)


def _by_server(kubectl: Kubectl, application: Application, files: str) -> ByServer:
    applied = said(kubectl(f"apply --server-side {files}"), "serverside-applied")
    _wait(kubectl, application)
    before = _versions(kubectl, files)
    again = said(kubectl(f"apply --server-side {files}"), "serverside-applied")
    rewritten = {name for name, version in _versions(kubectl, files).items() if before[name] != version}
    await_no_difference(kubectl, f"diff --server-side {files}")
    return ByServer(applied, again, rewritten)


@contextmanager
def _kubectl(stack: Stack, application: Application, way: str) -> Iterator[Kubectl]:
    """In the namespace that the application brings, or else in one of its own."""
    namespace = application.namespace or f"{application.folder}-{way}"
    kubectl = Kubectl(stack.kubectl.kubeconfig, namespace)
    if not application.namespace:
        stack.kubectl(f"create namespace {namespace}")
        await_furniture(kubectl)
    yield kubectl
    stack.kubectl(f"delete namespace {namespace} --ignore-not-found --wait=false")


def _wait(kubectl: Kubectl, application: Application) -> None:
    for what in application.ready:
        kubectl(f"wait --timeout=180s {what}")


def _managers(kubectl: Kubectl, files: str) -> set[str]:
    """Who applied the objects, on whichever side."""
    return {
        entry["manager"]
        for obj in stored(kubectl, files)
        for entry in obj["metadata"]["managedFields"]
        if entry["manager"].startswith("kubectl")
    }


def _versions(kubectl: Kubectl, files: str) -> dict[str, Any]:
    """When the objects were written last, or of those into whose status loops write, how often what was asked for
    changed. A quota, which has no such number, counts on."""
    return {
        f"{obj['kind']}/{obj['metadata']['name']}": obj["metadata"].get(
            "generation", obj["metadata"]["resourceVersion"]
        )
        for obj in stored(kubectl, files)
        if obj["kind"] != "ResourceQuota"
    }


def _left(stack: Stack, kubectl: Kubectl, application: Application) -> set[str]:
    """What remains in the namespace once the collector had its time."""
    if application.namespace:
        return set()  # `kubectl delete` has waited until that was gone

    def what_stays() -> tuple[set[str]]:
        left = left_in(stack, kubectl.namespace)
        assert left <= application.left, left - application.left
        return (left,)

    return eventually(what_stays, f"what {application.folder} made goes with it")[0]
