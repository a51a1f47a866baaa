"""What a test shows of a loop's log."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.apimachinery.resource import CONFIG_MAPS
from kubeloop.runtime import DONE, Controller, For, Manager, Result
from kubeloop.testing.builders import a_config_map
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster


@pytest.fixture(autouse=True)
def structlog_as_it_came() -> Iterator[None]:
    before, was_configured = structlog.get_config(), structlog.is_configured()
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()
    if was_configured:
        structlog.configure(**before)


class Failing:
    async def reconcile(self, key: ObjectKey) -> Result:
        password = "not for a log"
        raise KeyError(f"{len(password)} characters")


def fail(manager: Manager) -> None:
    manager.add(Controller("failing", Failing(), [For(manager.informer(CONFIG_MAPS))]))


async def make_a_config_map(cluster: Cluster) -> None:
    await cluster.create(a_config_map("settings"))
    await cluster.clock.sleep(0.001)


def test_a_failing_reconcile_is_told_without_local_variables(capfd: pytest.CaptureFixture[str]) -> None:
    """A line and a plain traceback: what the frames hold is nobody's business."""
    run_cluster(make_a_config_map, processes={"failing": a_loop(fail)})

    told = capfd.readouterr().err
    assert '"reconcile failed, retrying" controller="failing" key="default/settings"' in told
    assert "KeyError: '13 characters'" in told
    assert "password = 'not for a log'" not in told


def test_logging_of_ones_own_is_left_alone() -> None:
    """Who has configured structlog gets its lines as before."""
    lines: list[str] = []

    def keep(_: object, level: str, fields: structlog.typing.EventDict) -> str:
        lines.append(fields["event"])
        raise structlog.DropEvent

    structlog.configure(processors=[keep])
    run_cluster(make_a_config_map, processes={"failing": a_loop(fail)})

    assert "reconcile failed, retrying" in lines


def write_what_nobody_knows(manager: Manager) -> None:
    class Writer:
        async def reconcile(self, key: ObjectKey) -> Result:
            change = {"dat": {"a": "b"}}
            for _ in range(2):
                await manager.api.patch(CONFIG_MAPS, key.name, change, key.namespace)
            return DONE

    manager.add(Controller("writer", Writer(), [For(manager.informer(CONFIG_MAPS))]))


def test_a_field_that_the_server_drops_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """A misspelled field is no error, as in Kubernetes; but the server's warning stands in the log, once."""
    run_cluster(make_a_config_map, processes={"writer": a_loop(write_what_nobody_knows)})

    assert 1 == capfd.readouterr().err.count('"the server warns" text="unknown field \\"dat\\""')
