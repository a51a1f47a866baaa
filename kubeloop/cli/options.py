"""What `kubeloop up` was told, checked once: flags win over KUBELOOP_… in the environment, which wins over defaults."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubeloop.apimachinery import quantity
from kubeloop.apimachinery.forwarding import is_loopback
from kubeloop.apimachinery.go_duration import duration_error, duration_seconds
from kubeloop.apimachinery.releases import DEFAULT, release
from kubeloop.apimachinery.stage_sets import CLUSTER, SETS, is_named
from kubeloop.container_processes import is_supported

SIMULATED, PROCESS = RUNTIMES = ("simulated", "process")
DEFAULT_DATA_DIR = Path(".kubeloop")


class UsageError(Exception):
    """Something the user can mend: shown as one line, exit code 1."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The whole stack's settings. Sizes are Kubernetes quantities."""

    port: int = 8001
    data_dir: Path = DEFAULT_DATA_DIR
    nodes: int = 3
    kubeconfig: Path | None = None  # None: the file named by KUBECONFIG, or ~/.kube/config
    node_cpu: str = "4"
    node_memory: str = "8Gi"
    node_pods: int = 110
    apiserver_args: tuple[str, ...] = ()
    scheduler_args: tuple[str, ...] = ()
    detach: bool = False
    secure: bool = False  # TLS, and everybody is asked who he is
    kubernetes_version: str = DEFAULT
    default_storage_class: bool = False  # claims without a class get simulated volumes
    node_ephemeral_storage: str = "100Gi"
    controllers_args: tuple[str, ...] = ()
    kubelet_args: tuple[str, ...] = ()
    metrics_server: bool = False  # serves simulated usage as metrics.k8s.io
    metric_resolution: str = "15s"  # how often usage is looked at
    stages: tuple[str, ...] = ()  # sets and files of stages that objects go through, or "cluster"
    faults: bool = False  # failures of nodes and pods as objects
    runtime: str = SIMULATED  # what runs containers: nothing, or processes of this user

    @property
    def server(self) -> str:
        return f"{'https' if self.secure else 'http'}://127.0.0.1:{self.port}"

    @property
    def kubeconfig_path(self) -> Path:
        """The file the context is written to; of a KUBECONFIG list it is the first, as kubectl writes there too."""
        if self.kubeconfig is not None:
            return self.kubeconfig
        named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
        return Path(named[0]) if named else Path.home() / ".kube" / "config"

    def check(self) -> None:
        """Refuse what cannot work before anything is started."""
        if not 0 < self.port < 65536:
            raise UsageError(f"--port={self.port}: a port is a number between 1 and 65535")
        if self.nodes < 0:
            raise UsageError(f"--nodes={self.nodes}: must not be negative")
        if self.node_pods < 1:
            raise UsageError(f"--node-pods={self.node_pods}: must be greater than 0")
        try:
            release(self.kubernetes_version)
        except ValueError as error:
            raise UsageError(f"--kubernetes-version={self.kubernetes_version}: {error}") from None
        _check_amount("--node-cpu", self.node_cpu, "4 or 500m")
        _check_amount("--node-memory", self.node_memory, "8Gi or 512Mi")
        _check_amount("--node-ephemeral-storage", self.node_ephemeral_storage, "100Gi or 0", may_be_zero=True)
        for flag, arguments in (
            ("--apiserver-arg", self.apiserver_args),
            ("--scheduler-arg", self.scheduler_args),
            ("--controllers-arg", self.controllers_args),
            ("--kubelet-arg", self.kubelet_args),
        ):
            for argument in arguments:
                if not argument.startswith("-"):
                    raise UsageError(f"{flag}={argument}: write {flag}=--flag=value")
        self._check_runtime()
        for source in self.stages:
            if not is_named(source) and not Path(source).is_file():
                raise UsageError(f"--stages={source}: no file, and none of {', '.join([*SETS, CLUSTER])}")
        if why := duration_error(self.metric_resolution):
            raise UsageError(f"--metric-resolution={self.metric_resolution}: {why}")
        if duration_seconds(self.metric_resolution) <= 0:
            raise UsageError(f"--metric-resolution={self.metric_resolution}: must be greater than 0")

    def _check_runtime(self) -> None:
        """Whoever can create pods runs programs here: so nobody is let in from elsewhere, whatever he could show."""
        if self.runtime not in RUNTIMES:
            raise UsageError(f"--runtime={self.runtime}: write {' or '.join(RUNTIMES)}")
        for runtime in _values("--runtime", self.kubelet_args):
            raise UsageError(f"--kubelet-arg=--runtime={runtime}: write --runtime={runtime}")
        if self.runtime != PROCESS:
            return
        if not is_supported():
            raise UsageError(f"--runtime={PROCESS} needs Linux")
        for address in _values("--bind-address", self.apiserver_args):
            if not is_loopback(address):
                raise UsageError(
                    f"--runtime={PROCESS} is not for an API server that others reach (--bind-address={address}): "
                    "whoever can create pods there runs programs as this user"
                )

    def as_flags(self) -> list[str]:
        """The command line that says the same; `detach` is left out, as it is not the stack's."""
        return [
            f"--port={self.port}",
            f"--data-dir={self.data_dir}",
            f"--nodes={self.nodes}",
            f"--kubeconfig={self.kubeconfig_path}",
            f"--node-cpu={self.node_cpu}",
            f"--node-memory={self.node_memory}",
            f"--node-pods={self.node_pods}",
            f"--node-ephemeral-storage={self.node_ephemeral_storage}",
            *(f"--apiserver-arg={argument}" for argument in self.apiserver_args),
            *(f"--scheduler-arg={argument}" for argument in self.scheduler_args),
            f"--kubernetes-version={self.kubernetes_version}",
            *(["--secure"] if self.secure else []),
            *(["--default-storage-class"] if self.default_storage_class else []),
            *(f"--controllers-arg={argument}" for argument in self.controllers_args),
            *(f"--kubelet-arg={argument}" for argument in self.kubelet_args),
            *(["--metrics-server"] if self.metrics_server else []),
            f"--metric-resolution={self.metric_resolution}",
            *(["--faults"] if self.faults else []),
            *([f"--runtime={self.runtime}"] if self.runtime != SIMULATED else []),
            *(f"--stages={source}" for source in self.stages),
        ]


def _values(flag: str, arguments: Sequence[str]) -> Iterator[str]:
    """What a flag is given, as argparse reads it: its name may be cut short. "" where it is given nothing."""
    for argument in arguments:
        name, _, value = argument.partition("=")
        if len(name) > len("--") and flag.startswith(name):
            yield value


def _check_amount(flag: str, text: str, example: str, may_be_zero: bool = False) -> None:
    try:
        sign = quantity.parse(text).sign
    except quantity.QuantityError:
        raise UsageError(f"{flag}={text}: not a quantity, such as {example}") from None
    if sign < 0 and may_be_zero:
        raise UsageError(f"{flag}={text}: must not be negative")
    if sign <= 0 and not may_be_zero:
        raise UsageError(f"{flag}={text}: must be greater than 0")
