"""docs/writing-a-controller.md: the operator it shows works, its test passes, and every other snippet runs."""

from __future__ import annotations

import ast
import asyncio
import inspect
import random
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import kubeloop.runtime
from kubeloop.apimachinery import meta, resource
from kubeloop.apimachinery.conditions import new_condition
from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.apimachinery.resource import CONFIG_MAPS, DEPLOYMENTS, NODES, PODS, Resource
from kubeloop.runtime import DONE, Controller, Manager, Result
from kubeloop.testing.builders import a_config_map, a_custom, a_definition, a_deployment
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

GUIDE = (Path(__file__).parents[2] / "docs" / "writing-a-controller.md").read_text()
OPERATOR, TEST, *SNIPPETS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
(DEFINITION,) = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL))
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


def the_guides_module() -> dict[str, Any]:
    module: dict[str, Any] = {"__name__": "greeter"}
    exec(compile(OPERATOR, "greeter.py", "exec"), module)
    exec(compile(TEST, "test_greeter.py", "exec"), module)
    return module


def test_the_guides_operator_passes_the_guides_test() -> None:
    """Both code blocks run as they stand."""
    the_guides_module()["test_a_changed_config_map_is_repaired"]()


def test_the_guides_definition_is_the_operators() -> None:
    """The manifest defines the resource that the code names, and its schema keeps all that the operator writes."""
    module = the_guides_module()

    async def check(cluster: Cluster) -> None:
        greetings = await cluster.define(DEFINITION)
        assert module["GREETINGS"] == greetings
        hello = await cluster.create(a_custom(greetings, "hello", text="hi"), greetings)
        manager = Manager(cluster.api, cluster.clock, random.Random(1))
        module["add_to"](manager)
        running = asyncio.create_task(manager.run())
        await cluster.settled()
        status = (await cluster.read(hello, greetings))["status"]
        assert {"observedGeneration": 1, "configMap": "hello"}.items() <= status.items()
        assert ["Ready"] == [condition["type"] for condition in status["conditions"]]
        manager.stop()
        await running

    run_cluster(check)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.strip().splitlines()[0][:60])
def test_the_guides_snippets_run(snippet: str) -> None:
    """Each in a manager that runs, with the objects and names that the page speaks of."""

    async def check(cluster: Cluster) -> None:
        definition = await cluster.create(a_definition(WIDGETS))
        await cluster.clock.sleep(1)
        widget = await cluster.create(a_custom(WIDGETS, "web", node="node-1"), WIDGETS)
        await cluster.create(a_config_map("settings"))
        await cluster.create(a_deployment("web").replicas(3))
        manager = Manager(cluster.api, cluster.clock, random.Random(1))
        names = {**vars(kubeloop.runtime), **vars(meta), **vars(resource), **the_world(cluster, manager)}
        names |= {"definition": definition, "widget": widget, "WIDGETS": WIDGETS}
        is_by_hand = "manager.run" in snippet
        running = None if is_by_hand else asyncio.create_task(manager.run())
        if is_by_hand:
            asyncio.get_running_loop().call_later(60, manager.stop)
        await cluster.clock.sleep(1)
        code = compile(snippet, "a snippet of the guide", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        outcome = eval(code, names)
        if inspect.isawaitable(outcome):
            await outcome
        if "async def reconcile" in snippet:
            await names["reconcile"](ObjectKey("default", "web"))
        if running is not None:
            manager.stop()
            await running

    run_cluster(check)


def test_the_guides_processes_bring_children_up() -> None:
    """The loops, scheduler and nodes that the page names make a Deployment's pods run."""
    (snippet,) = (snippet for snippet in SNIPPETS if "PROCESSES = " in snippet)
    names: dict[str, Any] = {"a_loop": a_loop}
    exec(compile(snippet, "a snippet of the guide", "exec"), names)

    async def check(cluster: Cluster) -> None:
        web = await cluster.create(a_deployment("web").replicas(3))

        async def is_up() -> bool:
            return 3 == (await cluster.read(web)).get("status", {}).get("availableReplicas")

        await cluster.eventually(is_up)

    run_cluster(check, processes=names["PROCESSES"])


def the_world(cluster: Cluster, manager: Manager) -> dict[str, Any]:
    """What the snippets take for granted."""

    class Reconciler:
        async def reconcile(self, key: ObjectKey) -> Result:
            return DONE

    async def nothing(key: ObjectKey) -> None: ...

    controller = Controller("greeter", Reconciler())
    manager.add(controller)
    informers = {
        "widgets": WIDGETS,
        "pods": PODS,
        "nodes": NODES,
        "config_maps": CONFIG_MAPS,
        "deployments": DEPLOYMENTS,
    }
    return {
        **{name: manager.informer(of) for name, of in informers.items()},
        "cluster": cluster,
        "a_loop": a_loop,
        "manager": manager,
        "controller": controller,
        "reconciler": Reconciler(),
        "api": manager.api,
        "clock": manager.clock,
        "rng": manager.rng,
        "key": ObjectKey("default", "web"),
        "new_condition": new_condition,
        "database": SimpleNamespace(is_connected=True),
        "delete_bucket": nothing,
        "ensure_bucket": nothing,
    }


@pytest.mark.parametrize("name", kubeloop.runtime.__all__)
def test_the_page_has_every_public_name(name: str) -> None:
    """Whatever kubeloop.runtime offers is explained there, or at least named."""
    assert re.search(rf"\b{name}\b", GUIDE)
