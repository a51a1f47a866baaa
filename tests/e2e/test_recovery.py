"""What survives kill -9: of any one process, of all of them, and of the supervisor alone."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import httpx
import pytest

from kubeloop.cli.state import is_alive
from tests.testkit.eventually import eventually
from tests.testkit.stack import Stack, is_ready

pytestmark = pytest.mark.e2e

PROCESSES = (
    "apiserver",
    "deployment-controller",
    "replicaset-controller",
    "controllers",
    "scheduler",
    "kubelet-sim",
)
WEB = "rollout status deployment/web --timeout=180s"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """A stack of this module's own: its processes die."""
    with Stack() as running:
        running.kubectl("apply -f examples/web/web.yaml")
        running.kubectl(WEB)
        yield running


@pytest.mark.parametrize("name", PROCESSES)
def test_the_stack_converges_after_any_process_was_killed(stack: Stack, name: str) -> None:
    """kill -9 of one process: it is started again, and what is asked for meanwhile happens."""
    image = f"nginx:{name}"

    killed = stack.kill(name)
    eventually(lambda: is_ready(stack.server), "the API server answers")
    stack.kubectl(f"set image deployment/web nginx={image}")
    stack.kubectl(WEB)

    eventually(lambda: stack.pid(name) not in (0, killed), f"the supervisor starts {name} again")
    eventually(lambda: _images(stack) == [image] * 3, f"exactly three pods of {image} are left")


def test_nothing_acknowledged_is_lost_when_everything_is_killed(stack: Stack) -> None:
    """Every create that was answered is there after kill -9 of all processes and another `kubeloop up`."""
    with stack.client() as client:
        created = [_create_config_map(client, f"kept-{number}") for number in range(50)]
        stack.kill_everything()

    stack.start()

    kept = {item["metadata"]["name"]: item["metadata"] for item in stack.get(CONFIG_MAPS)["items"]}
    assert created == [(name, kept[name]["uid"], kept[name]["resourceVersion"]) for name, _, _ in created]
    stack.kubectl(WEB)


def test_a_watch_resumes_where_it_was_before_the_crash(stack: Stack) -> None:
    """A watch from a resourceVersion of before the crash sees every change since, in order and once."""
    with stack.client() as client:
        _, _, seen = _create_config_map(client, "last-seen")
        missed = _create_config_map(client, "missed")[0]
        stack.kill_everything()
        stack.start()
        later = _create_config_map(client, "later")[0]

        events = _watch(client, f"{CONFIG_MAPS}?watch=1&resourceVersion={seen}", count=2)

    assert [("ADDED", missed), ("ADDED", later)] == events


def test_what_a_killed_supervisor_left_is_taken_over(stack: Stack) -> None:
    """`kubeloop up` ends the processes of a supervisor that was killed, and goes on with their data."""
    orphans = stack.state.processes
    os.kill(stack.state.supervisor.pid, signal.SIGKILL)
    eventually(lambda: not stack.state.is_supervised, "the supervisor is gone")

    stack.start()

    assert [False] * len(PROCESSES) == [is_alive(orphan) for orphan in orphans]
    assert list(PROCESSES) == [process.name for process in stack.state.processes]
    stack.kubectl(WEB)


def _images(stack: Stack) -> list[str]:
    pods = stack.kubectl.json("get pods -l app=web")["items"]
    return [pod["spec"]["containers"][0]["image"] for pod in pods]


def _create_config_map(client: httpx.Client, name: str) -> tuple[str, str, str]:
    answer = client.post(CONFIG_MAPS, json={"metadata": {"name": name}})
    assert answer.status_code == 201, answer.text
    metadata = answer.json()["metadata"]
    return metadata["name"], metadata["uid"], metadata["resourceVersion"]


def _watch(client: httpx.Client, path: str, count: int) -> list[tuple[str, str]]:
    """The first events of a watch: type and name."""
    with client.stream("GET", path) as response:
        lines = response.iter_lines()
        events = [json.loads(next(lines)) for _ in range(count)]
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]
