"""Names of objects as owner references see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"

Reference = Mapping[str, Any]


class Identity(NamedTuple):
    """What names one object of the cluster; of an owner only ever referred to, it is what somebody claims.

    The order of the fields is the order in which alternatives are tried (referenceLessThan, v1.36).
    """

    kind: str
    api_version: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"[{self.api_version}/{self.kind}, namespace: {self.namespace}, name: {self.name}, uid: {self.uid}]"

    def is_meant_by(self, reference: Reference) -> bool:
        """Whether a reference has all these coordinates (a reference has no namespace)."""
        return (self.kind, self.api_version, self.name, self.uid) == _coordinates(reference)


def identity_of(reference: Reference, namespace: str) -> Identity:
    """The owner that a reference of an object in `namespace` means."""
    kind, api_version, name, uid = _coordinates(reference)
    return Identity(kind, api_version, namespace, name, uid)


def _coordinates(reference: Reference) -> tuple[str, str, str, str]:
    return (
        reference.get("kind", ""),
        reference.get("apiVersion", ""),
        reference.get("name", ""),
        reference.get("uid", ""),
    )
