"""`python -m kubelet_sim`: a process that plays the nodes of a cluster."""

from __future__ import annotations

import argparse
import sys

from kubelet_sim import simulator
from kubelet_sim.settings import Settings
from kubeloop.apimachinery import quantity
from kubeloop.arguments import release_of
from kubeloop.runtime import flags, process


def main() -> int:
    parser = _parser()
    arguments = parser.parse_args()
    settings = _settings(arguments)
    for name in ("node_cpu", "node_memory", "node_ephemeral_storage"):
        try:
            quantity.parse(getattr(settings, name))
        except quantity.QuantityError as error:
            parser.error(f"--{name.replace('_', '-')}: {error}")
    return process.run("kubelet", arguments, lambda manager: simulator.add_to(manager, settings))


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
        "--image-pull-seconds",
        type=float,
        default=default.image_pull_seconds,
        help="the longest that a pod waits for its images (default %(default)s)",
    )
    pods.add_argument(
        "--init-seconds",
        type=float,
        default=default.init_seconds,
        help="how long an init container runs of which nothing else is known (default %(default)s)",
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
