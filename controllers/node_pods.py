"""The pods of a node, from a shared informer; `index` may be called by every loop that asks."""

from __future__ import annotations

from controllers.pods import node_of
from kubeloop.apimachinery.meta import Object
from kubeloop.client.informer import Informer

_BY_NODE = "by-node"


def index(pods: Informer) -> Informer:
    """Makes `pods_on` work on this informer."""
    pods.add_index(_BY_NODE, lambda pod: (node_of(pod),))
    return pods


def pods_on(pods: Informer, node_name: str) -> list[Object]:
    return pods.by_index(_BY_NODE, node_name)
