"""Kubeconfig files as kubectl reads them."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeloop.client.kubeconfig import Connection, KubeconfigError, connect, load, paths


def write(path: Path, **parts: Any) -> Path:
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **parts}))
    return path


def a_config(path: Path, server: str = "http://127.0.0.1:8001", **user: Any) -> Path:
    return write(
        path,
        **{"current-context": "main"},
        contexts=[{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
        clusters=[{"name": "c", "cluster": {"server": server}}],
        users=[{"name": "u", "user": user}],
    )


def test_the_current_context_is_followed(tmp_path: Path) -> None:
    """Server, namespace and token come from what the current context names."""
    config = a_config(tmp_path / "config", token="secret")

    assert Connection("http://127.0.0.1:8001", "ns", "secret") == load([config])


def test_the_first_file_of_a_list_wins(tmp_path: Path) -> None:
    """Of two files that define the same names the first is used; the second fills in what is missing."""
    first = write(tmp_path / "first", clusters=[{"name": "c", "cluster": {"server": "http://first"}}])
    second = a_config(tmp_path / "second", "http://second", token="t")

    connection = load([first, tmp_path / "absent", second])

    assert ("http://first", "t") == (connection.server, connection.token)


def test_files_are_found_beside_the_kubeconfig(tmp_path: Path) -> None:
    """Relative paths are relative to the file that holds them; inline data wins over a path."""
    (tmp_path / "token").write_text("from-file\n")
    encoded = base64.b64encode(b"INLINE").decode()
    config = a_config(
        tmp_path / "config", tokenFile="token", **{"client-key-data": encoded, "client-key": "no-such-file"}
    )

    connection = load([config])

    assert ("from-file", "INLINE") == (connection.token, connection.key)


def test_mistakes_are_named(tmp_path: Path) -> None:
    """An unknown context says which there are, and a credential plugin that it is not run."""
    config = a_config(tmp_path / "config", exec={"command": "x"})

    with pytest.raises(KubeconfigError, match=r"context 'other' does not exist in .*config \(there are: main\)"):
        load([config], "other")
    with pytest.raises(KubeconfigError, match="needs the credential plugin 'exec'"):
        load([config])
    with pytest.raises(KubeconfigError, match="not found"):
        load([tmp_path / "absent"])


def test_which_files_are_read() -> None:
    """The flag comes before the KUBECONFIG list, and that before the file in the home folder."""
    assert [Path("flag")] == paths("flag", {"KUBECONFIG": "a:b"})
    assert [Path("a"), Path("b")] == paths("", {"KUBECONFIG": "a:b"})
    assert [Path("~/.kube/config").expanduser()] == paths("", {})


def test_a_master_needs_no_kubeconfig() -> None:
    """--master alone is enough, even where there is no file."""
    api = connect(master="http://127.0.0.1:1/", environ={"KUBECONFIG": "/nonexistent"})

    assert "http://127.0.0.1:1" == api.base_url
