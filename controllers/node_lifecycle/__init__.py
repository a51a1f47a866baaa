"""node-lifecycle-controller: what becomes of a node whose kubelet falls silent, and what that does to its pods.

`nodes` keeps taints and labels of each node in line with its conditions.
pkg/controller/nodelifecycle, v1.36.
"""

from __future__ import annotations

from controllers.node_lifecycle.nodes import add_to

__all__ = ["add_to"]
