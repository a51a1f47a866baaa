"""The custom resource Application: its names, and what its spec asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, annotations_of, generation_of, key_of
from kubeloop.apimachinery.resource import Resource

GROUP = "gitops.example.com"
APPLICATIONS = Resource(GROUP, "v1alpha1", "applications", "Application")
FINALIZER = f"{GROUP}/prune"
# On everything that is applied: as a label the Application's name, as an annotation its namespace/name.
TRACKING = f"{GROUP}/application"
# On an Application: a value not seen before asks for one sync, whatever the policy is.
SYNC_REQUEST = f"{GROUP}/sync"


@dataclass(frozen=True, slots=True)
class Source:
    """Where manifests are: a directory of a local Git repository, at a branch, a tag or a commit."""

    repository: str
    path: str
    revision: str


@dataclass(frozen=True, slots=True)
class SyncPolicy:
    """`automated`: new commits are applied. `prune`: what Git no longer has is deleted. `self_heal`: drift is undone.

    `force_conflicts`: fields that others apply are taken from them.
    """

    automated: bool = False
    prune: bool = False
    self_heal: bool = False
    force_conflicts: bool = False


@dataclass(frozen=True, slots=True)
class Application:
    key: ObjectKey
    generation: int
    source: Source
    namespace: str
    policy: SyncPolicy
    sync_request: str

    @classmethod
    def of(cls, obj: ReadOnlyObject) -> Application:
        spec: Mapping[str, Any] = obj["spec"]
        source, policy = spec["source"], spec.get("syncPolicy") or {}
        return cls(
            key_of(obj),
            generation_of(obj),
            Source(source["repoURL"], source.get("path") or ".", source.get("targetRevision") or "HEAD"),
            spec["destination"]["namespace"],
            SyncPolicy(
                bool(policy.get("automated")),
                bool(policy.get("prune")),
                bool(policy.get("selfHeal")),
                bool(policy.get("forceConflicts")),
            ),
            annotations_of(obj).get(SYNC_REQUEST) or "",
        )

    @property
    def field_manager(self) -> str:
        """One for each Application, so that Kubernetes itself tells when two of them want the same object.

        At most 128 characters: the definition allows names of 53.
        """
        return f"gitops:{self.key}"
