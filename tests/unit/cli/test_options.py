"""What `kubeloop up` is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeloop.cli.options import UpOptions, UsageError


def test_the_defaults_are_fine() -> None:
    """Nobody has to say anything."""
    UpOptions().check()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (UpOptions(port=65536), "--port=65536: a port is a number between 1 and 65535"),
        (UpOptions(nodes=-1), "--nodes=-1: must not be negative"),
        (
            UpOptions(kubernetes_version="1.32"),
            "--kubernetes-version=1.32: '1.32' is none of the Kubernetes versions that can be served: "
            "1.33, 1.34, 1.35, 1.36, 1.37",
        ),
        (UpOptions(node_pods=0), "--node-pods=0: must be greater than 0"),
        (UpOptions(node_cpu="abc"), "--node-cpu=abc: not a quantity, such as 4 or 500m"),
        (UpOptions(node_cpu=""), "--node-cpu=: not a quantity, such as 4 or 500m"),
        (UpOptions(node_cpu="-4"), "--node-cpu=-4: must be greater than 0"),
        (UpOptions(node_memory="8GB"), "--node-memory=8GB: not a quantity, such as 8Gi or 512Mi"),
        (UpOptions(node_ephemeral_storage="1X"), "--node-ephemeral-storage=1X: not a quantity, such as 100Gi or 0"),
        (UpOptions(node_ephemeral_storage="-1"), "--node-ephemeral-storage=-1: must not be negative"),
        (UpOptions(runtime="docker"), "--runtime=docker: write simulated or process"),
        (
            UpOptions(runtime="process", apiserver_args=("--bind-addr=0.0.0.0",)),
            "--runtime=process is not for an API server that others reach (--bind-address=0.0.0.0): whoever can create "
            "pods there runs programs as this user",
        ),
        (
            UpOptions(kubelet_args=("--runtime=process",)),
            "--kubelet-arg=--runtime=process: write --runtime=process",
        ),
        (UpOptions(apiserver_args=("x",)), "--apiserver-arg=x: write --apiserver-arg=--flag=value"),
        (UpOptions(stages=("fast", "fats")), "--stages=fats: no file, and none of fast, general, chaos, cluster"),
    ],
)
def test_nonsense_is_refused_by_the_name_of_its_flag(options: UpOptions, said: str) -> None:
    """The message names the flag, what was found and what is allowed."""
    with pytest.raises(UsageError) as refused:
        options.check()

    assert said == str(refused.value)


@pytest.mark.parametrize(
    ("named", "expected"),
    [("/a/config", "/a/config"), ("/a/config:/b/config", "/a/config"), (":/b/config", "/b/config")],
)
def test_the_context_goes_where_kubectl_would_write_it(
    monkeypatch: pytest.MonkeyPatch, named: str, expected: str
) -> None:
    """Of a KUBECONFIG list it is the first file."""
    monkeypatch.setenv("KUBECONFIG", named)

    assert Path(expected) == UpOptions().kubeconfig_path


def test_without_a_name_the_context_goes_to_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """~/.kube/config is kubectl's default."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", "/home/alice")

    assert Path("/home/alice/.kube/config") == UpOptions().kubeconfig_path


def test_flags_say_all_that_the_options_say() -> None:
    """A command line made of them starts the same stack; detaching is no part of the stack."""
    extras = {
        "detach": True,
        "default_storage_class": True,
        "kubernetes_version": "1.33",
        "node_ephemeral_storage": "0",
        "controllers_args": ("--v=4",),
        "kubelet_args": ("--init-seconds=1",),
        "metrics_server": True,
        "metric_resolution": "1s",
        "faults": True,
        "runtime": "process",
        "stages": ("fast", "s.yaml"),
    }
    options = UpOptions(1, Path("d"), 2, Path("k"), "3", "4Gi", 5, ("--a=b", "--c"), **extras)

    assert [
        "--port=1",
        "--data-dir=d",
        "--nodes=2",
        "--kubeconfig=k",
        "--node-cpu=3",
        "--node-memory=4Gi",
        "--node-pods=5",
        "--node-ephemeral-storage=0",
        "--apiserver-arg=--a=b",
        "--apiserver-arg=--c",
        "--kubernetes-version=1.33",
        "--default-storage-class",
        "--controllers-arg=--v=4",
        "--kubelet-arg=--init-seconds=1",
        "--metrics-server",
        "--metric-resolution=1s",
        "--faults",
        "--runtime=process",
        "--stages=fast",
        "--stages=s.yaml",
    ] == options.as_flags()
