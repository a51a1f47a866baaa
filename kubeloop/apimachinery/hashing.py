"""Short names for what a pod template or revision says, used in labels and names (`web-5d59d67564`).

Equal content has equal hashes whatever the order of its keys: a 32-bit FNV sum in decimal, in the safe alphabet.
Those of revisions are Kubernetes' own. Those of templates differ from Kubernetes', which hashes a dump of Go structs
there, but have the same shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kubeloop.apimachinery.names import safe_encode

_FNV_OFFSET = 2166136261
_FNV_PRIME = 16777619
_MASK = 0xFFFFFFFF
# What encoding/json escapes for the sake of HTML.
_GO_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def pod_template_hash(template: Mapping[str, Any], collision_count: int | None = None) -> str:
    """The value of the pod-template-hash label; each collision count gives another one."""
    return _hash(template, b"" if collision_count is None else collision_count.to_bytes(8, "little"))


def controller_revision_hash(data: Any, collision_count: int | None = None) -> str:
    """What tells a StatefulSet's ControllerRevisions apart: the sum of their data as Go writes it."""
    salt = "" if collision_count is None else str(collision_count)
    return safe_encode(str(fnv32(_encoded(_text(data).translate(_GO_ESCAPES) + salt))))


def fnv32(data: bytes) -> int:
    """The 32-bit FNV-1 sum."""
    total = _FNV_OFFSET
    for byte in data:
        total = total * _FNV_PRIME & _MASK ^ byte
    return total


def fnv32a(data: bytes) -> int:
    """The 32-bit FNV-1a sum."""
    total = _FNV_OFFSET
    for byte in data:
        total = (total ^ byte) * _FNV_PRIME & _MASK
    return total


def _hash(content: Any, salt: bytes) -> str:
    return safe_encode(str(fnv32a(_encoded(_text(content)) + salt)))


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
