"""Which stack or cluster a command is about."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from kubeloop.cli import main as command
from kubeloop.cli.display import Display
from kubeloop.cli.kubeconfig_file import Login, write_context
from kubeloop.cli.options import DEFAULT_DATA_DIR, UpOptions, UsageError
from kubeloop.cli.state import StackState, one_at_a_time, own_state
from kubeloop.cli.target import Cluster, Target
from kubeloop.testing.virtual_time import LoopClock, run
from tests.testkit.reader import InstantClock

SERVER = "http://127.0.0.1:8001"


@pytest.fixture
def started(tmp_path: Path) -> tuple[Path, Path]:
    """The data directory and the kubeconfig of a stack that `up` has started."""
    return a_stack(tmp_path / "data", tmp_path / "kubeconfig", SERVER)


def a_stack(data_dir: Path, kubeconfig: Path, server: str) -> tuple[Path, Path]:
    data_dir.mkdir()
    StackState(server, own_state("supervisor"), kubeconfig=str(kubeconfig)).save(data_dir)
    asyncio.run(write_context(kubeconfig, Login(server), data_dir, InstantClock()))
    return data_dir, kubeconfig


def test_either_flag_leads_to_the_other(started: tuple[Path, Path]) -> None:
    data_dir, kubeconfig = started

    by_data_dir, by_kubeconfig = Target(data_dir), Target(kubeconfig=kubeconfig)

    assert (data_dir, data_dir) == (by_data_dir.directory(), by_kubeconfig.directory())
    assert Cluster(str(kubeconfig), "kubeloop") == by_data_dir.cluster() == Target(data_dir, kubeconfig).cluster()
    assert Cluster(str(kubeconfig)) == by_kubeconfig.cluster()
    assert data_dir == by_kubeconfig.cluster().data_dir()


def test_without_flags_a_stack_is_that_of_this_folder_and_a_cluster_that_of_kubectl() -> None:
    assert (DEFAULT_DATA_DIR, Cluster()) == (Target().directory(), Target().cluster())


def test_two_flags_that_lead_apart_are_refused(started: tuple[Path, Path], tmp_path: Path) -> None:
    """Nobody should scale or stop another stack than he thinks."""
    other, _ = a_stack(tmp_path / "other", tmp_path / "other-kubeconfig", SERVER)

    with pytest.raises(UsageError, match=f"leads to the stack on {started[0]}, not to that on {other}"):
        Target(other, started[1]).cluster()


def test_a_context_that_is_no_stacks_is_told(started: tuple[Path, Path], tmp_path: Path) -> None:
    """One that somebody else wrote, and one whose stack is gone from this machine."""
    data_dir, kubeconfig = started
    (tmp_path / "foreign").write_text(Login("https://prod").kubeconfig("prod"))
    (data_dir / "stack.json").unlink()
    data_dir.rmdir()

    for file in (tmp_path / "foreign", kubeconfig):
        with pytest.raises(UsageError, match="is of no stack on this machine; name the stack by --data-dir"):
            Target(kubeconfig=file).directory()


def test_a_context_that_another_stack_has_taken_over_is_told(started: tuple[Path, Path], tmp_path: Path) -> None:
    """Both wrote into one kubeconfig: by its data directory the first is no longer reached."""
    data_dir, kubeconfig = started
    a_stack(tmp_path / "other", kubeconfig, "http://127.0.0.1:8002")

    with pytest.raises(UsageError, match="is no longer that of the stack"):
        Target(data_dir).cluster()


@pytest.mark.parametrize("flag", ["--data-dir", "--kubeconfig"])
def test_a_flag_wins_over_the_environment_that_says_it_by_the_other(
    started: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flag: str,
) -> None:
    other = a_stack(tmp_path / "other", tmp_path / "other-kubeconfig", "http://127.0.0.1:8002")
    monkeypatch.setenv("KUBELOOP_DATA_DIR", str(other[0]))
    monkeypatch.setenv("KUBELOOP_KUBECONFIG", str(other[1]))

    code = command.main(["status", "-o", "json", f"{flag}={started[flag == '--kubeconfig']}"])

    assert 0 == code
    assert SERVER == yaml.safe_load(capsys.readouterr().out)["server"]


def test_the_second_of_two_that_scale_waits_for_the_first(tmp_path: Path) -> None:
    """It says so."""
    told: list[str] = []

    async def main() -> list[str]:
        order, clock = [], LoopClock()

        async def scale(name: str) -> None:
            async with one_at_a_time(tmp_path, "scale", clock, told.append):
                order.append(f"{name} begins")
                await clock.sleep(60)
                order.append(f"{name} is done")

        async with asyncio.TaskGroup() as tasks:
            for name in ("first", "second"):
                tasks.create_task(scale(name))
        return order

    assert ["first begins", "first is done", "second begins", "second is done"] == run(main())
    assert ["another `kubeloop scale` is at work on this stack: waiting for it"] == told


@pytest.mark.parametrize(("nodes", "title"), [(0, "kubeloop is ready, without nodes"), (3, "kubeloop is ready")])
def test_a_stack_without_nodes_says_so(capsys: pytest.CaptureFixture[str], nodes: int, title: str) -> None:
    """And how to get some."""
    Display().ready(UpOptions(), StackState(SERVER, own_state("supervisor"), nodes=nodes))

    shown = capsys.readouterr().out
    assert f" {title} " in shown
    assert (nodes == 0) == ("scale nodes 3" in shown)
