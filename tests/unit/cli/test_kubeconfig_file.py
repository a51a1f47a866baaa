"""The context `kubeloop` in a kubeconfig that belongs to somebody."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeloop.cli.kubeconfig_file import LOCK_SECONDS, Login, write_context
from kubeloop.cli.options import UsageError
from tests.testkit.reader import InstantClock

SERVER = "http://127.0.0.1:8001"


def write(path: Path, token: str = "", clock: InstantClock | None = None) -> Any:
    asyncio.run(write_context(path, Login(SERVER, token), path.parent, clock or InstantClock()))
    return yaml.safe_load(path.read_text())


def test_a_missing_file_is_made_with_its_folder_and_for_its_owner_only(tmp_path: Path) -> None:
    """The first context on a fresh machine."""
    path = tmp_path / ".kube" / "config"

    written = write(path)

    assert "kubeloop" == written["current-context"]
    assert ["kubeloop"] == [cluster["name"] for cluster in written["clusters"]]
    assert [{"name": "kubeloop", "context": {"cluster": "kubeloop", "user": "kubeloop"}}] == written["contexts"]
    assert 0o600 == path.stat().st_mode & 0o777


@pytest.mark.parametrize(("server", "is_skipped"), [(SERVER, True), ("https://127.0.0.1:8443", False)])
def test_nothing_is_verified_without_tls_only(server: str, is_skipped: bool) -> None:
    """Clients that refuse plain HTTP by accident are told that it is meant; over TLS the authority is asked for."""
    (cluster,) = yaml.safe_load(Login(server, ca="PEM").kubeconfig("alone"))["clusters"]

    assert is_skipped == cluster["cluster"].get("insecure-skip-tls-verify", False)


def test_what_others_wrote_is_kept_to_the_letter(tmp_path: Path) -> None:
    """Other clusters, users, contexts and unknown fields stay; an older kubeloop is replaced, not doubled."""
    path = tmp_path / "config"
    theirs: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {"colors": True},
        "clusters": [{"name": "prod", "cluster": {"server": "https://prod"}}, {"name": "kubeloop", "cluster": {}}],
        "users": [{"name": "prod", "user": {"token": "secret"}}],
        "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "prod"}}],
        "current-context": "prod",
    }
    path.write_text(yaml.safe_dump(theirs))

    written = write(path)

    assert theirs["preferences"] == written["preferences"]
    assert ["prod", "kubeloop"] == [cluster["name"] for cluster in written["clusters"]]
    for section in ("clusters", "users", "contexts"):
        assert theirs[section][0] == written[section][0]


def test_the_file_is_backed_up_before_its_first_change_only(tmp_path: Path) -> None:
    """The backup is what was there before kubeloop ever wrote, with the file's own mode."""
    path = tmp_path / "config"
    path.write_text("kind: Config\n")
    path.chmod(0o640)

    write(path)
    write(path, token="t")

    backup = tmp_path / "config.kubeloop-backup"
    assert "kind: Config\n" == backup.read_text()
    assert [0o640, 0o640] == [file.stat().st_mode & 0o777 for file in (path, backup)]


def test_a_token_is_the_users(tmp_path: Path) -> None:
    """Where the server asks for one, the user kubeloop has it."""
    written = write(tmp_path / "config", token="secret")

    assert [{"name": "kubeloop", "user": {"token": "secret"}}] == written["users"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """A kubeconfig kept elsewhere is changed there."""
    real = tmp_path / "real"
    real.write_text("kind: Config\n")
    (tmp_path / "config").symlink_to(real)

    write(tmp_path / "config")

    assert (tmp_path / "config").is_symlink()
    assert "kubeloop" == yaml.safe_load(real.read_text())["current-context"]


def test_a_held_lock_is_waited_for(tmp_path: Path) -> None:
    """While kubectl writes, kubeloop waits; both changes are in the file."""
    path, lock, clock = tmp_path / "config", tmp_path / "config.lock", InstantClock()
    lock.touch()

    def kubectl_ends() -> None:
        path.write_text("users: [{name: new, user: {}}]")
        lock.unlink(missing_ok=True)

    clock.during_sleep = kubectl_ends
    written = write(path, clock=clock)

    assert ["new", "kubeloop"] == [user["name"] for user in written["users"]]
    assert not lock.exists()


def test_a_lock_that_nobody_lets_go_is_told(tmp_path: Path) -> None:
    """A leftover lock is not waited for for ever, nor removed behind somebody's back."""
    clock = InstantClock()
    (tmp_path / "config.lock").touch()

    with pytest.raises(UsageError, match="exists: if no kubectl is running, remove it"):
        write(tmp_path / "config", clock=clock)

    assert clock.slept_seconds > LOCK_SECONDS
    assert (tmp_path / "config.lock").exists()


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [", "text"])
def test_a_file_that_is_no_kubeconfig_is_left_alone(tmp_path: Path, text: str) -> None:
    """What cannot be read cannot be merged into."""
    path = tmp_path / "config"
    path.write_text(text)

    with pytest.raises(UsageError, match="cannot read the kubeconfig"):
        write(path)

    assert text == path.read_text()
    assert not (tmp_path / "config.lock").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "kube").touch()

    with pytest.raises(UsageError, match="cannot write the kubeconfig"):
        write(tmp_path / "kube" / "config")
