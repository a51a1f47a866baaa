"""Server-side apply: what is applied is there, and applying it again changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.storage.memory import MemoryStorage
from tests.properties.live import APPLY, Live, live, tried

Object = dict[str, Any]
_numbers = count(1)
NAMES = st.sampled_from(("a", "b", "c"))
MAPS = st.dictionaries(NAMES, st.sampled_from(("x", "y")), max_size=3)
PORTS = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.sampled_from((80, 81))}, optional={"protocol": st.sampled_from(("TCP", "UDP"))}
    ),
    max_size=2,
    unique_by=lambda port: (port["containerPort"], port.get("protocol", "TCP")),
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES, "image": st.sampled_from(("nginx", "redis"))},
        optional={
            "env": st.lists(
                st.fixed_dictionaries({"name": NAMES, "value": NAMES}), max_size=2, unique_by=lambda e: e["name"]
            ),
            "ports": PORTS,
        },
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda container: container["name"],
)
CONFIGURATIONS = st.fixed_dictionaries(
    {"containers": CONTAINERS},
    optional={"labels": MAPS, "annotations": MAPS, "nodeSelector": MAPS, "finalizers": st.just(["example.com/a"])},
)


@pytest.fixture(scope="module")
def server() -> Iterator[Live]:
    with live(MemoryStorage) as running:
        yield running


def deployment(name: str, config: Object) -> Object:
    metadata = {"name": name} | {key: config[key] for key in ("labels", "annotations", "finalizers") if key in config}
    spec = {"containers": config["containers"]} | {key: config[key] for key in ("nodeSelector",) if key in config}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template},
    }


def contained(config: Any, live_value: Any, where: str = "") -> None:
    """All that is applied is there; list items are found by their name or port."""
    if isinstance(config, dict):
        for key, value in config.items():
            if value not in ({}, []):
                assert key in live_value, f"{where}.{key}"
                contained(value, live_value[key], f"{where}.{key}")
    elif isinstance(config, list):
        for item in config:
            contained(
                item,
                next((other for other in live_value if names(item) == names(other)), None),
                f"{where}[{names(item)}]",
            )
    else:
        assert config == live_value, where


def names(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return item.get("name") or (item.get("containerPort"), item.get("protocol", "TCP"))


async def applied(server: Live, obj: Object, manager: str, force: bool = False) -> Object:
    path = f"/apis/apps/v1/namespaces/default/deployments/{obj['metadata']['name']}?fieldManager={manager}"
    return dict(await server.call("PATCH", path + ("&force=true" if force else ""), obj, APPLY))


@tried(30)
@given(first=CONFIGURATIONS, second=CONFIGURATIONS)
def test_applied_twice(server: Live, first: Object, second: Object) -> None:
    """The second time nothing is written: same version, same managedFields; and so after another configuration."""

    async def run() -> None:
        name = f"d{next(_numbers)}"
        for config in (deployment(name, first), deployment(name, second)):
            once = await applied(server, config, "me")
            contained(config, once)

            again = await applied(server, config, "me")

            assert once == again

    server.run(run())


@tried(30)
@given(first=CONFIGURATIONS, second=CONFIGURATIONS)
def test_what_is_no_longer_stated_goes(server: Live, first: Object, second: Object) -> None:
    """One applier's object is its last configuration: the way there leaves nothing behind."""

    async def run() -> None:
        detour, straight = f"d{next(_numbers)}", f"d{next(_numbers)}"
        await applied(server, deployment(detour, first), "me")
        there = await applied(server, deployment(detour, second), "me")
        here = await applied(server, deployment(straight, second), "me")

        assert comparable(here) == comparable(there)

    server.run(run())


@tried(20)
@given(mine=CONFIGURATIONS, yours=CONFIGURATIONS)
def test_two_appliers(server: Live, mine: Object, yours: Object) -> None:
    """With force both configurations' fields come to be, the later one's where they differ; then neither moves it."""

    async def run() -> None:
        name = f"d{next(_numbers)}"
        await applied(server, deployment(name, mine), "me")
        both = await applied(server, deployment(name, yours), "you", force=True)
        contained(deployment(name, yours), both)

        assert both == await applied(server, deployment(name, yours), "you")
        managers = {entry["manager"] for entry in both["metadata"]["managedFields"]}
        assert {"you"} <= managers <= {"me", "you"}

    server.run(run())


def comparable(obj: Object) -> Object:
    """Without what tells two objects of one content apart; items in the order of their names, which a merge keeps."""
    metadata = {key: value for key, value in obj["metadata"].items() if key in ("labels", "annotations", "finalizers")}
    return {"metadata": metadata, "spec": ordered({**obj["spec"]})}


def ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: ordered(item) for key, item in value.items() if item not in ({}, [])}
    return sorted((ordered(item) for item in value), key=str) if isinstance(value, list) else value
