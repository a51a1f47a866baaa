"""Every example manifest, through the real kubectl, at the real stack: what a user would try, in the order he would."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.testkit.eventually import eventually
from tests.testkit.manifests import MANIFESTS as FOLDER
from tests.testkit.manifests import await_no_difference, said
from tests.testkit.stack import Kubectl, Stack

pytestmark = pytest.mark.e2e

DEFINITIONS = FOLDER / "crd"
RENEW_SECONDS = 5.0
MERGE = {"Content-Type": "application/merge-patch+json"}
# What kubectl calls configured when nothing changed, at a real server too.
ALWAYS_CONFIGURED = {
    "secret/secret-string-data",  # a Secret has no stringData any more, so it is sent again
    "poddisruptionbudget.policy/poddisruptionbudget",  # its selector is replaced as a whole, so it is sent again
}


class Example(NamedTuple):
    file: Path
    object: dict[str, Any]

    @property
    def is_definition(self) -> bool:
        return DEFINITIONS in self.file.parents

    @property
    def name(self) -> str:
        """As kubectl prints it: `deployment.apps/web`."""
        group = self.object["apiVersion"].rpartition("/")[0]
        kind = self.object["kind"].lower()
        return (
            f"{kind}.{group}/{self.object['metadata']['name']}"
            if group
            else f"{kind}/{self.object['metadata']['name']}"
        )


def examples() -> Iterator[Example]:
    for file in sorted(FOLDER.rglob("*.yaml")):
        yield Example(file, yaml.safe_load(file.read_text()))


EXAMPLES = tuple(examples())


def missing(part: Any, whole: Any, path: str = "") -> Iterable[str]:
    """Where a stored object lacks what was asked for."""
    if isinstance(part, dict) and isinstance(whole, dict):
        for key, value in part.items():
            yield from missing(value, whole.get(key), f"{path}.{key}")
    elif isinstance(part, list) and isinstance(whole, list) and len(part) <= len(whole):
        for i, (wanted, found) in enumerate(zip(part, whole, strict=False)):
            yield from missing(wanted, found, f"{path}[{i}]")
    elif part != whole:
        yield path


def test_every_example_says_what_it_shows() -> None:
    """There is one object a file, below a line of comment, and no two have the same name."""
    assert all(example.file.read_text().startswith("# ") for example in EXAMPLES)
    assert len({example.name for example in EXAMPLES}) == len(EXAMPLES) >= 60


@pytest.mark.timeout(900)  # nine commands about eighty objects each
def test_every_example_is_applied_shown_and_deleted(kubectl: Kubectl) -> None:
    """Created, shown with all it asked for, unchanged by another apply, without a diff, applied on the server's side,
    described and deleted."""
    _go_through(kubectl, [example for example in EXAMPLES if example.object["kind"] != "Node"])


def test_the_example_of_a_node_is_applied_shown_and_deleted(stack: Stack, kubectl: Kubectl) -> None:
    """The same, by itself, and while a kubelet seems to live: a minute after its last sign the taints are a loop's."""
    (node,) = (example for example in EXAMPLES if example.object["kind"] == "Node")

    def has_its_own_taints() -> bool:
        """And no longer the one that every new node has."""
        found = kubectl.json(f"get {node.name}")["spec"]["taints"]
        return bool(found == node.object["spec"]["taints"])

    with _signs_of_life(stack, node.object["metadata"]["name"]):
        _go_through(kubectl, [node], lambda: eventually(has_its_own_taints, "a loop takes away not-ready"))


@contextmanager
def _signs_of_life(stack: Stack, node: str) -> Iterator[None]:
    """A Lease of the node, renewed every few seconds, as its kubelet would."""
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    is_over = threading.Event()

    def renewed() -> dict[str, Any]:
        return {"spec": {"renewTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"}}

    def renew() -> None:
        while not is_over.wait(RENEW_SECONDS):
            client.patch(f"{leases}/{node}", json=renewed(), headers=MERGE)

    with stack.client() as client:
        assert 201 == client.post(leases, json={"metadata": {"name": node}, **renewed()}).status_code
        renewing = threading.Thread(target=renew)
        renewing.start()
        try:
            yield
        finally:
            is_over.set()
            renewing.join()
            client.delete(f"{leases}/{node}")


def _go_through(kubectl: Kubectl, examples: list[Example], settle: Callable[[], object] = lambda: None) -> None:
    """`settle`: waits until no loop has anything more to do with what was created."""
    names = {example.name for example in examples}
    definitions = _files(example for example in examples if example.is_definition)
    others = _files(example for example in examples if not example.is_definition)
    everything = _files(examples)

    created = set()
    if definitions:
        created = said(kubectl(f"apply {definitions}"), "created")
        kubectl(f"wait --for=condition=Established --timeout=180s {definitions}")
    created |= said(kubectl(f"apply {everything}"), "created")
    settle()
    stored = _objects(kubectl(f"get {everything} -o yaml").partition("\nWarning:")[0])
    again = kubectl(f"apply {everything}")
    await_no_difference(kubectl, f"diff {everything}")
    applied = said(kubectl(f"apply --server-side {everything}"), "serverside-applied")
    described = kubectl(f"describe {everything}")
    deleted = kubectl(f"delete --timeout=180s {others}")
    if definitions:
        deleted += kubectl(f"delete --timeout=180s {definitions}")

    assert names == created
    assert names == said(again, "unchanged") | (ALWAYS_CONFIGURED & names)
    assert names == applied
    assert not {
        (example.name, path)
        for example, obj in zip(examples, stored, strict=True)
        if "stringData" not in example.object
        for path in missing(example.object, obj)
    }
    assert [example.object["metadata"]["name"] for example in examples] == [
        line.split()[1] for line in described.splitlines() if line.startswith("Name:")
    ]
    assert len(examples) == sum(
        line.partition(" (")[0].endswith(" deleted") or " deleted from " in line for line in deleted.splitlines()
    )


def _files(examples: Iterable[Example]) -> str:
    return " ".join(f"-f {example.file}" for example in examples)


def _objects(answer: str) -> list[Any]:
    """One, or the items of a list."""
    answered = yaml.safe_load(answer)
    items: list[Any] = answered["items"] if answered["kind"] == "List" else [answered]
    return items
