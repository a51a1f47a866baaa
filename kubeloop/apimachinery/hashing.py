"""Short names for what a pod template or revision says, used in labels and names (`web-5d59d67564`).

Equal content has equal hashes whatever the order of its keys. The numbers differ from Kubernetes' own, which hashes a
dump of Go structs, but have the same shape: a 32-bit FNV sum in decimal, in the safe alphabet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kubeloop.apimachinery.names import safe_encode

_FNV_OFFSET = 2166136261
_FNV_PRIME = 16777619
_MASK = 0xFFFFFFFF


def pod_template_hash(template: Mapping[str, Any], collision_count: int | None = None) -> str:
    """The value of the pod-template-hash label; each collision count gives another one."""
    return _hash(template, b"" if collision_count is None else collision_count.to_bytes(8, "little"))


def controller_revision_hash(data: Any, collision_count: int | None = None) -> str:
    """The suffix of a ControllerRevision's name and the value of the controller-revision-hash label."""
    return _hash(data, b"" if collision_count is None else str(collision_count).encode())


def fnv32a(data: bytes) -> int:
    """The 32-bit FNV-1a sum."""
    total = _FNV_OFFSET
    for byte in data:
        total = (total ^ byte) * _FNV_PRIME & _MASK
    return total


def _hash(content: Any, salt: bytes) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return safe_encode(str(fnv32a(text.encode("utf-8", "surrogatepass") + salt)))
