"""What the simulated nodes are like: read from flags once, or given by a test."""

from __future__ import annotations

from dataclasses import dataclass

from kubelet_sim.stages.model import Stage
from kubeloop.apimachinery.forwarding import DEFAULT_KUBELET_PORT
from kubeloop.apimachinery.releases import DEFAULT

SIMULATED, PROCESS = "simulated", "process"  # what runs the containers


@dataclass(frozen=True, slots=True)
class Settings:
    """`image_pull_seconds`: the longest that a pod waits for its images, each pod a random share of it.

    `init_seconds`: how long an init container, or one of a Job, runs of which nothing else is known. `pod_cidr` is cut
    into a block a node for those that nobody gave a podCIDR. Of `shards` processes this is number `shard`.
    """

    nodes: int = 3
    node_name_prefix: str = "node-"
    node_cpu: str = "4"
    node_memory: str = "8Gi"
    node_pods: int = 110
    node_ephemeral_storage: str = "100Gi"
    image_pull_seconds: float = 0.2
    init_seconds: float = 3.0
    pod_cidr: str = "10.128.0.0/9"
    node_cidr: str = "172.18.0.0/16"
    kubelet_port: int = DEFAULT_KUBELET_PORT  # where the kubelets' API is served on loopback, if it is another one
    kubernetes_version: str = DEFAULT  # what the kubelets say they are
    stages: tuple[Stage, ...] = ()  # what objects go through that are given over to them
    follows_stages: bool = False  # bring the kind Stage into the cluster, and play what is there
    faults: bool = False  # bring the kind Fault into the cluster
    shard: int = 0
    shards: int = 1
