"""The example operators' manifests in a cluster on virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS
from kubeloop.testing.cluster import Cluster

OPERATORS = Path(__file__).resolve().parents[2] / "examples" / "operators"


def documents(path: Path) -> Iterator[Object]:
    """The objects of a YAML file."""
    yield from yaml.safe_load_all(path.read_text())


async def install(cluster: Cluster, operator: str) -> None:
    """Create the definition that the operator watches, and wait until its kind is served."""
    (definition,) = documents(OPERATORS / operator / "manifests" / "crd.yaml")
    await cluster.create(definition)

    async def is_served() -> bool:
        return is_true(conditions_of(await cluster.read(definition, CUSTOM_RESOURCE_DEFINITIONS)), "Established")

    await cluster.eventually(is_served)
