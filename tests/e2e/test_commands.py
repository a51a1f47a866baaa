"""`kubeloop up`, `down` and `status` as commands."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from kubeloop.cli.throwaway import free_port
from tests.testkit.command import KUBELOOP, kubeloop
from tests.testkit.stack import Kubectl, Stack, running

pytestmark = pytest.mark.e2e

PROCESSES = [
    "apiserver",
    "deployment-controller",
    "replicaset-controller",
    "controllers",
    "scheduler",
    "kubelet-sim",
]


def test_up_shows_progress_and_a_panel_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    """In the foreground: steps, then the panel; Ctrl-C ends it with 0 and the processes in reverse order."""
    port, data_dir, kubeconfig = free_port(), tmp_path / "data", tmp_path / "kubeconfig"
    flags = (f"--port={port}", f"--data-dir={data_dir}", f"--kubeconfig={kubeconfig}", "--nodes=1")
    with running(*KUBELOOP, "up", *flags, environment={"COLUMNS": "200"}, output=subprocess.PIPE) as process:
        assert process.stdout is not None
        shown = ""
        for line in iter(process.stdout.readline, ""):
            shown += line
            if "stop" in line:  # how it is stopped is the last thing it says
                break

        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=120)

    assert "nodes ready: 1 of 1" in shown
    assert shown.index("starting apiserver") < shown.index("kubeloop is ready")
    for said in (f"http://127.0.0.1:{port}", str(kubeconfig), "get nodes", "create deployment web", "scheduler"):
        assert said in shown
    stopped = [line.split()[-1] for line in rest.splitlines() if "stopping" in line]
    assert list(reversed(PROCESSES)) == stopped
    assert 0 == process.returncode


def test_status_tells_what_runs(stack: Stack) -> None:
    """status -o json has the address and each process with its id, state and restarts."""
    done = kubeloop("status", "-o", "json", f"--data-dir={stack.data_dir}")

    told = json.loads(done.stdout)
    assert stack.server == told["server"]
    assert PROCESSES == [process["name"] for process in told["processes"]]
    for process in told["processes"]:
        assert {"name", "pid", "state", "restarts"} == set(process)
        assert "running" == process["state"]
        os.kill(process["pid"], 0)


def test_the_state_survives_a_restart(tmp_path: Path) -> None:
    """What was created before `down` is there after the next `up` on the same data."""
    with _up(tmp_path, "--nodes=1") as kubectl:
        kubectl("create configmap kept")

    with _up(tmp_path, "--nodes=1") as kubectl:
        kept = kubectl("get configmap kept -o name")

    assert "configmap/kept\n" == kept


def test_other_contexts_of_a_kubeconfig_are_kept(tmp_path: Path) -> None:
    """The context kubeloop is merged into the file that KUBECONFIG names, beside what is there."""
    kubeconfig = tmp_path / "config"
    other = {"name": "other", "context": {"cluster": "other", "user": "other"}}
    kubeconfig.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "contexts": [other]}))

    with _up(tmp_path, "--nodes=0", kubeconfig=kubeconfig):
        written = yaml.safe_load(kubeconfig.read_text())

    assert ["other", "kubeloop"] == [context["name"] for context in written["contexts"]]
    assert other == written["contexts"][0]


def test_flags_win_over_the_environment(tmp_path: Path) -> None:
    """KUBELOOP_… sets what no flag says; a flag wins over it."""
    with _up(tmp_path, "--nodes=1", KUBELOOP_NODES="2", KUBELOOP_NODE_PODS="7") as kubectl:
        nodes = kubectl.json("get nodes")["items"]

    assert [("node-0", "7")] == [(node["metadata"]["name"], node["status"]["capacity"]["pods"]) for node in nodes]


def test_tokens_and_rbac_can_be_switched_on(tmp_path: Path) -> None:
    """With a token file and RBAC the stack's own processes still work, and others are asked for a token."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('alicetoken,alice,alice-uid,"devs"\n')
    alice = {"Authorization": "Bearer alicetoken"}
    flags = (f"--apiserver-arg=--token-auth-file={tokens}", "--apiserver-arg=--authorization-mode=RBAC")

    with _up(tmp_path, "--nodes=1", *flags) as kubectl:
        nodes = kubectl("get nodes -o name")
        server = kubectl("config view --minify -o jsonpath={.clusters[0].cluster.server}")
        answers = [httpx.get(f"{server}/api/v1/nodes", headers=headers, timeout=60) for headers in ({}, alice)]

    assert "node/node-0\n" == nodes
    assert [
        (403, 'nodes is forbidden: User "system:anonymous" cannot list resource "nodes"'),
        (403, 'nodes is forbidden: User "alice" cannot list resource "nodes"'),
    ] == [(answer.status_code, answer.json()["message"].partition(" in API group")[0]) for answer in answers]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--node-cpu=abc"], "error: --node-cpu=abc: not a quantity, such as 4 or 500m"),
        (["--node-memory=0"], "error: --node-memory=0: must be greater than 0"),
        (["--node-pods=0"], "error: --node-pods=0: must be greater than 0"),
        (["--nodes=-1"], "error: --nodes=-1: must not be negative"),
        (["--port=0"], "error: --port=0: a port is a number between 1 and 65535"),
        (["--apiserver-arg=v"], "error: --apiserver-arg=v: write --apiserver-arg=--flag=value"),
        (["--nonsense"], "error: No such option: --nonsense"),
        (["--port=abc"], "error: Invalid value for '--port'"),
    ],
)
def test_nonsense_is_refused_before_anything_starts(tmp_path: Path, flags: list[str], said: str) -> None:
    """A flag that makes no sense is one line and exit code 1, and leaves nothing behind."""
    done = kubeloop("up", f"--data-dir={tmp_path / 'data'}", *flags)

    _assert_one_line(done, said)
    assert not (tmp_path / "data").exists()


def test_a_nonsense_flag_of_the_api_server_is_told(tmp_path: Path) -> None:
    """What the API server itself refuses is handed on in its words."""
    done = _refused_up(tmp_path, "--apiserver-arg=--nonsense")

    _assert_one_line(done, "error: apiserver ended with exit code 1: error: unrecognized arguments: --nonsense")


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    """Somebody else's port is refused at once."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        done = kubeloop("up", f"--port={port}", f"--data-dir={tmp_path}", f"--kubeconfig={tmp_path}/config")

    _assert_one_line(done, f"error: cannot listen on 127.0.0.1:{port}: Address already in use")


def test_data_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """A database with a schema this version does not know is left alone."""
    with _up(tmp_path, "--nodes=0"):
        pass
    with closing(sqlite3.connect(tmp_path / "data" / "state.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = 999 WHERE name = 'schema'")

    done = _refused_up(tmp_path)

    _assert_one_line(done, "the data was written by a newer version of this server (schema 999")


def test_a_data_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A file in the place of the data directory stands for every directory that takes no files."""
    (tmp_path / "data").write_text("")

    done = _refused_up(tmp_path)

    _assert_one_line(done, f"error: cannot write to the data directory {tmp_path / 'data'}: ")


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """On a file system without room left, nothing starts."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        done = kubeloop("up", f"--port={free_port()}", f"--data-dir={disk}", f"--kubeconfig={tmp_path}/config")
    finally:
        subprocess.run(["umount", str(disk)], check=True)

    _assert_one_line(done, f"error: cannot write to the data directory {disk}: No space left on device")


def test_a_second_stack_on_the_same_data_is_refused(stack: Stack) -> None:
    """Two stacks never share a data directory."""
    done = kubeloop("up", f"--port={free_port()}", f"--data-dir={stack.data_dir}")

    _assert_one_line(done, f"error: a stack already runs on {stack.data_dir}")


def test_status_and_down_without_a_stack(tmp_path: Path) -> None:
    """status says that there is none; down has nothing to do."""
    status, down = kubeloop("status", f"--data-dir={tmp_path}"), kubeloop("down", f"--data-dir={tmp_path}")

    _assert_one_line(status, f"error: no stack was ever started on {tmp_path} (see --data-dir)")
    assert (0, f"· no stack runs on {tmp_path}") == (down.returncode, " ".join(down.stdout.split()))


@contextmanager
def _up(tmp_path: Path, *flags: str, kubeconfig: Path | None = None, **environment: str) -> Iterator[Kubectl]:
    """A stack of the flags, in the background; stopped at the end, its data kept."""
    chosen = kubeconfig or tmp_path / "kubeconfig"
    done = kubeloop("up", "--detach", *_own(tmp_path), *flags, KUBECONFIG=str(chosen), **environment)
    assert 0 == done.returncode, done.stderr
    try:
        yield Kubectl(chosen)
    finally:
        assert 0 == kubeloop("down", f"--data-dir={tmp_path / 'data'}").returncode


def _refused_up(tmp_path: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return kubeloop("up", *_own(tmp_path), *flags, KUBECONFIG=str(tmp_path / "kubeconfig"))


def _own(tmp_path: Path) -> tuple[str, ...]:
    return f"--port={free_port()}", f"--data-dir={tmp_path / 'data'}"


def _assert_one_line(done: subprocess.CompletedProcess[str], said: str) -> None:
    """The last word is one line on standard error, and the exit code is 1."""
    assert 1 == done.returncode, done.stdout
    assert 1 == len(done.stderr.splitlines()), done.stderr
    assert said in done.stderr
