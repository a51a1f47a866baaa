"""The kind mapper: which resource a manifest's apiVersion and kind mean."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, Resource
from kubeloop.client.discovery import KindMapper, NoMatch
from kubeloop.testing.cluster import Cluster, run_cluster

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def test_kinds_of_the_core_and_of_groups_are_found() -> None:
    """Namespaced or not is what the server says."""

    async def check(cluster: Cluster) -> None:
        mapper = KindMapper(cluster.api)

        assert CONFIG_MAPS == await mapper.resource("v1", "ConfigMap")
        assert DEPLOYMENTS == await mapper.resource("apps/v1", "Deployment")
        assert not (await mapper.resource("v1", "Namespace")).namespaced

    run_cluster(check)


@pytest.mark.parametrize(("api_version", "kind"), [("v1", "Foo"), ("example.com/v1", "Foo"), ("a b/c", "Foo")])
def test_a_kind_that_nobody_serves_is_told_in_client_gos_words(api_version: str, kind: str) -> None:
    """Whether its group is served or not."""

    async def check(cluster: Cluster) -> None:
        with pytest.raises(NoMatch, match=f'^no matches for kind "{kind}" in version "{api_version}"$'):
            await KindMapper(cluster.api).resource(api_version, kind)

    run_cluster(check)


def test_a_kind_is_found_once_its_definition_is_served() -> None:
    """That it was not there before is not remembered."""

    async def check(cluster: Cluster) -> None:
        mapper = KindMapper(cluster.api)
        with pytest.raises(NoMatch):
            await mapper.resource("example.com/v1", "Widget")
        await cluster.create(DEFINITION, CUSTOM_RESOURCE_DEFINITIONS)

        async def found() -> bool:
            try:
                return await mapper.resource("example.com/v1", "Widget") == WIDGETS
            except NoMatch:
                return False

        assert await cluster.eventually(found)

    run_cluster(check)


def test_a_kind_whose_version_is_gone_is_found_in_another() -> None:
    """As long as its group serves it in any."""

    async def check(cluster: Cluster) -> None:
        mapper = KindMapper(cluster.api)

        assert DEPLOYMENTS == await mapper.resource_in_any_version("apps", "v1beta1", "Deployment")
        assert CONFIG_MAPS == await mapper.resource_in_any_version("", "v1", "ConfigMap")
        for group in ("", "apps", "example.com"):
            with pytest.raises(NoMatch):
                await mapper.resource_in_any_version(group, "v1", "Foo")

    run_cluster(check)
