"""`python -m kubelet_sim`: a process that plays the nodes of a cluster."""

from __future__ import annotations

import argparse
import os
import socket
import ssl
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kubelet_sim import simulator
from kubelet_sim.server.access import Access
from kubelet_sim.server.server import Serving
from kubelet_sim.settings import PROCESS, SIMULATED, Settings
from kubelet_sim.stages.expression import StageError
from kubelet_sim.stages.sources import stages_of
from kubeloop.apimachinery import quantity
from kubeloop.apimachinery.forwarding import is_loopback
from kubeloop.apimachinery.stage_sets import CLUSTER, SETS
from kubeloop.arguments import release_of
from kubeloop.container_processes import is_supported
from kubeloop.runtime import flags, process
from kubeloop.runtime.manager import Manager

if TYPE_CHECKING:
    from kubelet_sim.process.machine import Machine

_HOST = "127.0.0.1"


def main() -> int:
    parser = _parser()
    arguments = parser.parse_args()
    try:
        settings = _settings(arguments)
    except (StageError, OSError, UnicodeDecodeError) as error:
        parser.error(f"--stages: {error}")
    for name in ("node_cpu", "node_memory", "node_ephemeral_storage"):
        try:
            quantity.parse(getattr(settings, name))
        except quantity.QuantityError as error:
            parser.error(f"--{name.replace('_', '-')}: {error}")
    if (arguments.tls_cert_file is None) != (arguments.tls_private_key_file is None):
        parser.error("--tls-cert-file and --tls-private-key-file are needed, both, to serve HTTPS")
    try:
        serving = _serving(arguments)
    except OSError as error:
        parser.error(f"the kubelets cannot be served: {error}")
    settings = replace(settings, kubelet_port=serving.port)
    machine = _machine(parser, arguments)

    def populate(manager: Manager) -> None:
        if machine is not None and not is_loopback(urlsplit(manager.api.base_url).hostname or ""):
            raise ValueError(f"--runtime={PROCESS} runs what the API server says, so it must be on loopback")
        simulator.add_to(manager, settings, serving, machine)

    return process.run("kubelet", arguments, populate)


def _machine(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> Machine | None:
    """None where nothing is really run."""
    if arguments.runtime != PROCESS:
        return None
    if not is_supported():
        parser.error(f"--runtime={PROCESS} needs Linux")
    from kubelet_sim.process.machine import InUse, Machine, own  # who simulates needs none of it

    root_dir = arguments.root_dir.resolve()
    try:
        own(root_dir)
    except (InUse, OSError) as error:
        parser.error(f"--root-dir: {error}")
    return Machine(root_dir, os.environ.get("PATH") or os.defpath)


def _serving(arguments: argparse.Namespace) -> Serving:
    token = arguments.client_token_file.read_text().strip() if arguments.client_token_file else ""
    tls = None
    if arguments.tls_cert_file is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(arguments.tls_cert_file, arguments.tls_private_key_file)
        if arguments.client_ca_file is not None:
            tls.load_verify_locations(arguments.client_ca_file)
            tls.verify_mode = ssl.CERT_REQUIRED
    return Serving(socket.create_server((_HOST, arguments.port)), Access(token), tls)


def _parser() -> argparse.ArgumentParser:
    default = Settings()
    parser = flags.parser(
        "kubelet-sim", "Plays nodes: registers them, keeps them alive, runs their pods.", elects=False
    )
    nodes = parser.add_argument_group("nodes")
    nodes.add_argument("--nodes", type=int, default=default.nodes, help="how many (default %(default)s)")
    nodes.add_argument(
        "--shard",
        type=_shard,
        default=(0, 1),
        metavar="I/N",
        help="of N processes this is number I, from 0 (default 0/1)",
    )
    nodes.add_argument("--node-name-prefix", default=default.node_name_prefix, help="(default %(default)s)")
    nodes.add_argument("--node-cpu", default=default.node_cpu, help="CPUs of each (default %(default)s)")
    nodes.add_argument("--node-memory", default=default.node_memory, help="memory of each (default %(default)s)")
    nodes.add_argument("--node-pods", type=int, default=default.node_pods, help="pods on each (default %(default)s)")
    nodes.add_argument(
        "--node-ephemeral-storage",
        default=default.node_ephemeral_storage,
        help="local storage of each (default %(default)s)",
    )
    nodes.add_argument("--node-cidr", default=default.node_cidr, help="addresses of the nodes (default %(default)s)")
    nodes.add_argument(
        "--pod-cidr",
        default=default.pod_cidr,
        help="addresses of pods, for nodes that are assigned no podCIDR (default %(default)s)",
    )
    nodes.add_argument(
        "--kubernetes-version",
        type=release_of,
        default=default.kubernetes_version,
        metavar="VERSION",
        help="what their kubelets say they are (default %(default)s)",
    )
    nodes.add_argument(
        "--faults", action="store_true", help="bring the kind Fault (kubeloop.io) into the cluster: failures as objects"
    )
    pods = parser.add_argument_group("pods")
    pods.add_argument(
        "--runtime",
        choices=(SIMULATED, PROCESS),
        default=SIMULATED,
        help=f"`{PROCESS}` runs the commands of containers as processes of this user (default %(default)s)",
    )
    pods.add_argument(
        "--root-dir",
        type=Path,
        default=Path(".kubeloop/kubelet"),
        help=f"volumes and logs of `--runtime={PROCESS}` (default %(default)s)",
    )
    pods.add_argument(
        "--image-pull-seconds",
        type=float,
        default=default.image_pull_seconds,
        help="the longest that a pod waits for its images (default %(default)s)",
    )
    pods.add_argument(
        "--init-seconds",
        type=float,
        default=default.init_seconds,
        help="how long an init container, or one of a Job, runs of which nothing else is known (default %(default)s)",
    )
    pods.add_argument(
        "--stages",
        action="append",
        default=[],
        metavar="SOURCE",
        help=f"stages (kwok's) that objects go through instead: {', '.join(SETS)}, {CLUSTER} or a file; repeat",
    )
    server = parser.add_argument_group("logs, exec, attach and port-forward, for the API server")
    server.add_argument("--port", type=int, default=0, help="on loopback (default: any that is free)")
    server.add_argument("--client-token-file", type=Path, metavar="FILE", help="serve only whoever shows this token")
    server.add_argument("--tls-cert-file", type=Path, metavar="FILE", help="serve HTTPS with this certificate")
    server.add_argument("--tls-private-key-file", type=Path, metavar="FILE", help="its key")
    server.add_argument(
        "--client-ca-file", type=Path, metavar="FILE", help="serve only whoever shows a certificate of this authority"
    )
    return parser


def _settings(arguments: argparse.Namespace) -> Settings:
    return Settings(
        nodes=arguments.nodes,
        node_name_prefix=arguments.node_name_prefix,
        node_cpu=arguments.node_cpu,
        node_memory=arguments.node_memory,
        node_pods=arguments.node_pods,
        node_ephemeral_storage=arguments.node_ephemeral_storage,
        image_pull_seconds=arguments.image_pull_seconds,
        init_seconds=arguments.init_seconds,
        pod_cidr=arguments.pod_cidr,
        node_cidr=arguments.node_cidr,
        kubernetes_version=arguments.kubernetes_version,
        faults=arguments.faults,
        stages=tuple(stages_of(arguments.stages)),
        follows_stages=CLUSTER in arguments.stages,
        shard=arguments.shard[0],
        shards=arguments.shard[1],
    )


def _shard(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not number.isdecimal() or not count.isdecimal() or int(number) >= int(count):
        raise argparse.ArgumentTypeError(f"{text!r}: write 0/2 for the first of two")
    return int(number), int(count)


if __name__ == "__main__":
    sys.exit(main())
