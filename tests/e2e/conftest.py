"""One stack for all tests that leave it as it was, and a namespace for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count

import pytest

from kubeloop.cli.certificates import Authority
from kubeloop.cli.options import UpOptions
from tests.testkit.stack import Kubectl, Stack, await_furniture

_numbers = count(1)


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    with Stack(UpOptions(default_storage_class=True)) as running:
        yield running


@pytest.fixture(scope="session")
def secure_stack() -> Iterator[Stack]:
    """One with TLS and RBAC."""
    with Stack(UpOptions(nodes=1, secure=True)) as running:
        yield running


@pytest.fixture(scope="session")
def faulty_stack() -> Iterator[Stack]:
    """One whose nodes may fail. Whoever makes a Fault takes it away again."""
    with Stack(UpOptions(nodes=2, faults=True)) as running:
        running.kubectl("wait --for=condition=Established crd/faults.kubeloop.io --timeout=180s")
        yield running


@pytest.fixture
def authority(secure_stack: Stack) -> Authority:
    """Who vouches for the secure stack, and for its users."""
    return Authority.kept_in(secure_stack.data_dir / "pki", datetime.now(UTC))


@pytest.fixture
def kubectl(stack: Stack) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own, which has what loops put into every one."""
    yield from _in_own_namespace(stack)


@pytest.fixture
def secure_kubectl(secure_stack: Stack) -> Iterator[Kubectl]:
    """The same as an administrator of the secure stack."""
    yield from _in_own_namespace(secure_stack)


def _in_own_namespace(stack: Stack) -> Iterator[Kubectl]:
    namespace = f"test-{next(_numbers)}"
    stack.kubectl(f"create namespace {namespace}")
    kubectl = Kubectl(stack.kubectl.kubeconfig, namespace)
    await_furniture(kubectl)
    yield kubectl
    stack.kubectl(f"delete namespace {namespace} --wait=false")
