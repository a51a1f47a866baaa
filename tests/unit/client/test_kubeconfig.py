"""Kubeconfig files as kubectl reads them."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeloop.client.kubeconfig import Connection, KubeconfigError, connect, in_cluster, load, paths
from kubeloop.client.token_file import TokenFile
from kubeloop.testing.virtual_time import LoopClock, run


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


def a_service_account(folder: Path, token: str = "of-the-pod") -> Path:
    (folder / "token").write_text(f"{token}\n")
    (folder / "namespace").write_text("operators")
    return folder


POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.mark.parametrize(
    ("environ", "has_token", "expected"),
    [
        (POD, True, "https://10.0.0.1:443"),
        ({**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}, True, "https://[fd00::1]:443"),
        (POD, False, None),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, True, None),
        ({}, True, None),
    ],
)
def test_a_pod_knows_its_api_server(
    tmp_path: Path, environ: dict[str, str], has_token: bool, expected: str | None
) -> None:
    """By environment and mounted files; where one of them is missing this is no pod."""
    folder = a_service_account(tmp_path) if has_token else tmp_path

    found = in_cluster(environ, folder)

    assert expected == (found.server if found else None)
    assert found is None or ("operators", str(folder / "token")) == (found.namespace, found.token_file)


def test_what_a_person_says_comes_before_what_a_pod_is_given(tmp_path: Path) -> None:
    """A flag, then KUBECONFIG, then the pod; ~/.kube/config is last."""
    config, folder = a_config(tmp_path / "config", "http://127.0.0.1:2"), a_service_account(tmp_path)

    def server(kubeconfig: str = "", master: str = "", **environ: str) -> str:
        return connect(kubeconfig, master, environ=POD | environ, service_account=folder).base_url

    assert "https://10.0.0.1:443" == server()
    assert "http://127.0.0.1:2" == server(str(config))
    assert "http://127.0.0.1:2" == server(KUBECONFIG=str(config))
    assert "http://127.0.0.1:3" == server(master="http://127.0.0.1:3")


def test_a_token_in_a_file_is_read_again(tmp_path: Path) -> None:
    """A minute after it was renewed at the latest; while it is empty or gone the last one is good."""

    async def main() -> list[str]:
        clock, file = LoopClock(), a_service_account(tmp_path, "one") / "token"
        token = TokenFile(file, clock)
        said = [token()]
        file.write_text("two")
        await clock.sleep(59)
        said.append(token())
        await clock.sleep(1)
        said.append(token())
        file.write_text("")
        await clock.sleep(61)
        said.append(token())
        file.unlink()
        await clock.sleep(61)
        said.append(token())
        return said

    assert ["one", "one", "two", "two", "two"] == run(main())


def test_a_token_file_goes_along_with_requests(tmp_path: Path) -> None:
    """Of the flag, of a kubeconfig and of a pod; a token said outright wins."""
    folder = a_service_account(tmp_path)
    config = a_config(tmp_path / "config", tokenFile="token")

    def token(*flags: str, **options: Any) -> Any:
        api = connect(*flags, environ=POD, service_account=folder, **options)
        return api._read_token() if api._read_token else api._headers["Authorization"]

    assert "of-the-pod" == token()
    assert "of-the-pod" == token(str(config))
    assert "of-the-pod" == token("", "http://127.0.0.1:1", token_file=str(folder / "token"))
    assert "Bearer said" == token(str(config), "", "said")
