"""How many simulated nodes a cluster asks for: ConfigMap kube-system/kubeloop-nodes, `data.nodes: "1000"`.

The command line writes it, the processes that play nodes follow it.
"""

from __future__ import annotations

from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject

ASKED_FOR = ObjectKey("kube-system", "kubeloop-nodes")
MAX_NODES = 65_000  # there are no more node addresses
_FIELD = "nodes"


def number_of_nodes(config_map: ReadOnlyObject) -> int:
    """Raises ValueError with a text for people."""
    text = (config_map.get("data") or {}).get(_FIELD, "")
    if not text.isdecimal() or int(text) > MAX_NODES:
        raise ValueError(f"ConfigMap {ASKED_FOR}: data.{_FIELD} is {text!r}: write a number from 0 to {MAX_NODES}")
    return int(text)


def ask_for(config_map: Object, nodes: int) -> None:
    """Write the number down."""
    config_map.setdefault("data", {})[_FIELD] = str(nodes)
