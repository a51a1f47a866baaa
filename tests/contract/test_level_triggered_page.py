"""docs/level-triggered.md: the scenario it shows finds nothing wrong with a right operator, and its snippet runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import structlog

import kubeloop.testing.faults
from kubeloop.apimachinery.meta import Object, ObjectKey, is_being_deleted
from kubeloop.apimachinery.resource import DEPLOYMENTS, Resource
from kubeloop.runtime import DONE, Controller, For, Manager, Owns, Result, create_or_update, set_controller_reference
from kubeloop.testing import campaign
from kubeloop.testing.builders import Builder, a_custom, a_definition, a_deployment
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

PAGE = (Path(__file__).parents[2] / "docs" / "level-triggered.md").read_text()
TEST, SNIPPET = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMAND = "python test_cafe.py"
CAFES = Resource("example.com", "v1", "cafes", "Cafe")


class Waiter:
    """The operator that the page takes for granted: a Deployment with as many replicas as the cafe has tables."""

    def __init__(self, manager: Manager) -> None:
        self._api = manager.api
        self.cafes, self.deployments = manager.informer(CAFES), manager.informer(DEPLOYMENTS)

    async def reconcile(self, key: ObjectKey) -> Result:
        cafe = self.cafes.get(key)
        if cafe is None or is_being_deleted(cafe):
            return DONE

        def shape(deployment: Object) -> None:
            set_controller_reference(deployment, cafe, CAFES)
            replicas = cafe["spec"]["tables"]
            deployment["spec"] = {**a_deployment(key.name)["spec"], **deployment.get("spec", {}), "replicas": replicas}

        await create_or_update(self._api, DEPLOYMENTS, key.name, key.namespace, shape, self.deployments)
        return DONE


class Wasteful(Waiter):
    """Opens once more whenever it starts anew."""

    opened = 0

    async def reconcile(self, key: ObjectKey) -> Result:
        if not self.opened:
            self.opened = 1
            cafe = self.cafes.get(key)
            assert cafe is not None
            extra = a_deployment("").owned_by(cafe).spec(replicas=1)
            del extra["metadata"]["name"]
            await self._api.create(DEPLOYMENTS, {**extra, "metadata": {**extra["metadata"], "generateName": "cafe-"}})
        return DONE


def the_pages_module(operator: type[Waiter], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    def add_to(manager: Manager) -> None:
        waiter = operator(manager)
        manager.add(Controller("cafe", waiter, [For(waiter.cafes), Owns(waiter.deployments, CAFES)]))

    def new(name: str, tables: int) -> Builder:
        return a_custom(CAFES, name, tables=tables)

    cafe = ModuleType("cafe")
    vars(cafe).update(add_to=add_to, CAFES=CAFES, DEFINITION=a_definition(CAFES), new=new)
    monkeypatch.setitem(sys.modules, "cafe", cafe)
    module: dict[str, Any] = {"__name__": "test_cafe"}
    exec(compile(TEST, "test_cafe.py", "exec"), module)
    return module


def failures(module: dict[str, Any], seeds: int = 8) -> list[str]:
    """Of fewer seeds than the page's own test plays."""
    with structlog.testing.capture_logs():
        return list(map(str, campaign.Campaign(module["SCENARIOS"], COMMAND).failures(range(seeds))))


def test_a_right_operator_passes_the_pages_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code block runs as it stands."""
    module = the_pages_module(Waiter, monkeypatch)

    assert not failures(module)
    assert COMMAND in TEST
    assert callable(module["test_whatever_happens"])


def test_a_wrong_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told as the page says: seed, scenario, what differs, and the command."""
    first = failures(the_pages_module(Wasteful, monkeypatch))[0]

    assert re.match(r"seed \d+, scenario cafe, under\n  cafe: ", first)
    assert "\nit ended in another state:\n+ deployments.apps default/cafe-*\n" in first
    assert re.search(r"\nagain: python test_cafe\.py --seed \d+ --scenario cafe$", first)


def test_the_fault_without_a_scenario_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a check of one's own, which may end the faults."""
    module = the_pages_module(Waiter, monkeypatch)
    checked = []

    async def check(cluster: Cluster) -> None:
        await module["open_and_grow"](cluster)
        cluster.end_faults()
        checked.append(True)

    names = {**module, **vars(kubeloop.testing.faults), "a_loop": a_loop, "run_cluster": run_cluster, "check": check}
    with structlog.testing.capture_logs():
        exec(compile(SNIPPET, "a snippet of the page", "exec"), names)

    assert checked
