"""What kubectl says about manifests: which objects there are, what it did to them, who stands in its way."""

from __future__ import annotations

from typing import Any

import yaml

from tests.testkit.eventually import eventually
from tests.testkit.stack import ROOT, Kubectl, KubectlError, Stack

MANIFESTS = ROOT / "examples" / "manifests"
APPLICATIONS = ROOT / "examples" / "applications"

# What every namespace has.
_DEFAULTS = {"configmaps/kube-root-ca.crt", "serviceaccounts/default"}
_AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


def objects_of(kubectl: Kubectl, files: str) -> set[str]:
    """The objects in `-f …`, as kubectl names them: `deployment.apps/web`. It only reads the files."""
    return set(kubectl(f"create --dry-run=client -o name {files}").split())


def said(answer: str, word: str) -> set[str]:
    """What kubectl says it has done that to."""
    return {line.split()[0] for line in answer.splitlines() if line.endswith(f" {word}")}


def warnings(answer: str) -> list[str]:
    """What the server warned of."""
    return [line.removeprefix("Warning: ") for line in answer.splitlines() if line.startswith("Warning: ")]


def await_no_difference(kubectl: Kubectl, diff: str) -> None:
    """Until `diff …` finds none. A status that a loop writes between what kubectl reads and what it tries is a
    difference, too, and on the server's side kubectl asks for nothing in between."""
    eventually(lambda: kubectl(diff) is not None, f"nothing differs: kubectl {diff}")


def conflicts_of(kubectl: Kubectl, apply: str) -> set[str]:
    """The fields for which server-side apply is refused, of all objects together; none where it is not."""
    try:
        kubectl(apply)
    except KubectlError as refused:
        lines = str(refused).splitlines()
        only_one = {line.rpartition(": ")[2] for line in lines if "1 conflict: " in line}
        return only_one | {line.removeprefix("- ") for line in lines if line.startswith("- ")}
    return set()


def stored(kubectl: Kubectl, files: str) -> list[dict[str, Any]]:
    """The objects in `-f …` as the server has them, with their managers."""
    answer = kubectl(f"get {files} -o yaml --show-managed-fields").partition("\nWarning:")[0]
    return list(yaml.load(answer, yaml.CSafeLoader)["items"])


def left_in(stack: Stack, namespace: str) -> set[str]:
    """All objects of a namespace, `pods/web`, but for events and what every namespace has."""
    with stack.client() as client:
        documents = [client.get(path, headers=_AGGREGATED).json() for path in ("/api", "/apis")]
        return {
            f"{resource}/{obj['metadata']['name']}"
            for prefix, resource in _listable(documents)
            for obj in client.get(f"{prefix}/namespaces/{namespace}/{resource}").json()["items"]
        } - _DEFAULTS


def _listable(documents: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Where objects in namespaces are listed, in the first version of each group."""
    return {
        (f"/apis/{group}/{version}" if group else f"/api/{version}", resource["resource"])
        for document in documents
        for item in document["items"]
        for group, version in [(item["metadata"].get("name"), item["versions"][0]["version"])]
        for resource in item["versions"][0]["resources"]
        if resource["scope"] == "Namespaced" and "list" in resource["verbs"] and resource["resource"] != "events"
    }
