"""One stack for all tests that leave it as it was, and a namespace for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.testkit.stack import Kubectl, Stack

_numbers = count(1)


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    with Stack() as running:
        yield running


@pytest.fixture
def kubectl(stack: Stack) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own."""
    namespace = f"test-{next(_numbers)}"
    stack.kubectl(f"create namespace {namespace}")
    yield Kubectl(stack.kubectl.kubeconfig, namespace)
    stack.kubectl(f"delete namespace {namespace} --wait=false")
