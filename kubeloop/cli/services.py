"""The stack as data: which processes there are, what each needs first, and how it is started."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kubeloop.apimachinery.stage_sets import is_named
from kubeloop.cli.options import PROCESS, UpOptions
from kubeloop.cli.secure import CONTROLLERS, METRICS, NODES, SCHEDULER, Secured
from kubeloop.private_files import write_private
from kubeloop.tokens import key_file

APISERVER = "apiserver"
# kubectl never sends credentials over plain HTTP, so on a server with tokens it would be nobody.
KUBECTL_USER = "--insecure-kubectl-user"
# Networks of the pods, with a block for each of 1,024 nodes, and of 32,768.
_CLUSTER_CIDR, _WIDE_CLUSTER_CIDR = "10.244.0.0/14", "10.128.0.0/9"
_NODES_OF_THE_DEFAULT = 1024
# Each of them sees all nodes: more than this many processes cost more than they bring.
_NODES_OF_A_KUBELET, _MOST_KUBELETS = 1000, 4
# All the others wait for the API server, so where cores are few it comes first. Not by much: other programs should not
# hold up the loops.
_WAITS_FOR_THE_SERVER = 2
_SIGNING_KEY = "--service-account-signing-key-file="


@dataclass(frozen=True, slots=True)
class Service:
    """One process. `needs` names services that must be ready before this one is started; `niceness` is added to that
    of the supervisor."""

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    niceness: int = 0


def services(options: UpOptions, token_file: Path, secured: Secured | None = None) -> Sequence[Service]:
    """Every process of the stack, in the order in which they start; they stop in the reverse order.

    The loops begin together with the API server and wait for it themselves: that is half a second of a cold start.
    One instance of each runs here, so none of them needs to win an election after a crash.
    """
    python = sys.executable

    def client(component: str) -> tuple[str, ...]:
        if secured is not None:
            return (f"--kubeconfig={secured.kubeconfig(component)}",)
        return (f"--master={options.server}", f"--token-file={token_file}")

    alone = "--leader-elect=false"
    common = (alone, _version_flag(options), *options.controllers_args)
    of_scheduler = (alone, _version_flag(options), *options.scheduler_args)
    controllers = (python, "-m", "controllers", *client(CONTROLLERS), *common)
    others = [
        *_authority_flags(options, secured),
        *_token_flags(options),
        *(["--default-storage-class"] if options.default_storage_class else []),
        f"--cluster-cidr={_CLUSTER_CIDR if options.nodes <= _NODES_OF_THE_DEFAULT else _WIDE_CLUSTER_CIDR}",
    ]
    listed = (
        Service(APISERVER, (python, "-m", "apiserver", *_apiserver_flags(options, secured))),
        _loop("deployment-controller", (*controllers, "--controllers=deployment")),
        _loop("replicaset-controller", (*controllers, "--controllers=replicaset")),
        _loop("controllers", (*controllers, "--controllers=*,-deployment,-replicaset", *others)),
        _loop("scheduler", (python, "-m", "controllers.scheduler", *client(SCHEDULER), *of_scheduler)),
        *_kubelets(options, (python, "-m", "kubelet_sim", *client(NODES), *_node_flags(options, secured))),
    )
    if not options.metrics_server:
        return listed
    metrics = (f"--metric-resolution={options.metric_resolution}", *(secured.metrics_flags if secured else ()))
    command = (python, "-m", "kubelet_sim.metrics", *client(METRICS), *metrics)
    return (*listed, _loop("metrics-server", command))


def _loop(name: str, command: tuple[str, ...]) -> Service:
    return Service(name, command, niceness=_WAITS_FOR_THE_SERVER)


def _apiserver_flags(options: UpOptions, secured: Secured | None) -> list[str]:
    flags = [
        f"--port={options.port}",
        f"--data-dir={options.data_dir}",
        _version_flag(options),
        *options.apiserver_args,
    ]
    if secured is not None:
        flags += secured.apiserver_flags
        return flags
    flags.append(f"--kubelet-token-file={kubelet_token(options.data_dir)}")
    if secures(options):
        flags.append(f"--token-auth-file={component_tokens(options.data_dir)}")
        if not any(argument.startswith(KUBECTL_USER) for argument in options.apiserver_args):
            flags.append(f"{KUBECTL_USER}=kubernetes-admin")
    return flags


def _authority_flags(options: UpOptions, secured: Secured | None) -> list[str]:
    """Certificates that the loops sign are good for this server. One that asks for none has no authority: they make one
    with the first certificate, which is not the one that `--secure` would trust later."""
    if secured is not None:
        pair = (secured.ca_file, secured.ca_key_file)
        return [f"--root-ca-file={secured.ca_file}", *_signing_flags(*pair)]
    folder = options.data_dir
    return [*_signing_flags(folder / "signer.crt", folder / "signer.key"), "--make-cluster-signing-authority"]


def _token_flags(options: UpOptions) -> list[str]:
    """Tokens in Secrets are signed with the API server's key: a server that keeps none would not know them."""
    given = [argument for argument in options.apiserver_args if argument.startswith(_SIGNING_KEY)]
    if not given and "--storage=memory" in options.apiserver_args:
        return []
    file = given[-1].removeprefix(_SIGNING_KEY) if given else options.data_dir / key_file.NAME
    return [f"--service-account-private-key-file={file}"]


def _signing_flags(certificate: Path, key: Path) -> list[str]:
    return [f"--cluster-signing-cert-file={certificate}", f"--cluster-signing-key-file={key}"]


def _kubelets(options: UpOptions, command: tuple[str, ...]) -> Sequence[Service]:
    """One process, or several that share many nodes. What containers really run is as important as the user's shell."""
    service = Service if options.runtime == PROCESS else _loop
    count = min(-(-options.nodes // _NODES_OF_A_KUBELET), _MOST_KUBELETS)
    if count <= 1:
        return (service("kubelet-sim", (*command, *_runtime_flags(options))),)
    return [
        service(f"kubelet-sim-{i}", (*command, *_runtime_flags(options, f"-{i}"), f"--shard={i}/{count}"))
        for i in range(count)
    ]


def _node_flags(options: UpOptions, secured: Secured | None) -> list[str]:
    return [
        f"--nodes={options.nodes}",
        _version_flag(options),
        f"--node-cpu={options.node_cpu}",
        f"--node-memory={options.node_memory}",
        f"--node-pods={options.node_pods}",
        f"--node-ephemeral-storage={options.node_ephemeral_storage}",
        *(["--faults"] if options.faults else []),
        *(secured.kubelet_flags if secured else [f"--client-token-file={kubelet_token(options.data_dir)}"]),
        *(f"--stages={_stage_source(source)}" for source in options.stages),
        *options.kubelet_args,
    ]


def _runtime_flags(options: UpOptions, suffix: str = "") -> list[str]:
    """Each process has a directory of its own: what it finds there when it starts, it ends."""
    if options.runtime != PROCESS:
        return []
    return [f"--runtime={PROCESS}", f"--root-dir={containers_dir(options.data_dir) / f'kubelet{suffix}'}"]


def _stage_source(source: str) -> str:
    """A file by its whole path: the process may be started anew from elsewhere."""
    return source if is_named(source) else str(Path(source).resolve())


def _version_flag(options: UpOptions) -> str:
    return f"--kubernetes-version={options.kubernetes_version}"


def secures(options: UpOptions) -> bool:
    """Whether a server on plain HTTP will ask who is calling: then the stack's own processes need a token too."""
    return any(argument.startswith("--token-auth-file") for argument in options.apiserver_args)


def containers_dir(data_dir: Path) -> Path:
    """Where containers that really run have their files."""
    return data_dir / "containers"


def component_tokens(data_dir: Path) -> Path:
    return data_dir / "components.csv"


def kubelet_token(data_dir: Path) -> Path:
    """What the API server of a stack without certificates is known by to its kubelets."""
    return data_dir / "kubelet.token"


def write_component_token(data_dir: Path) -> Path:
    """A fresh token for the stack's own processes, readable by this user only; returns the file that holds it.

    And one that the API server shows to the kubelets, which is good for nothing else.
    """
    token = secrets.token_urlsafe(24)
    token_file = data_dir / "components.token"
    write_private(token_file, token)
    write_private(kubelet_token(data_dir), secrets.token_urlsafe(24))
    write_private(component_tokens(data_dir), f'{token},kubeloop,kubeloop,"system:masters"\n')
    return token_file
