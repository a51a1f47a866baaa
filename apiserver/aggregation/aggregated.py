"""What other servers answer for, as it is known just now: read by routing, discovery and OpenAPI.

Kept up by `aggregator.py`. As long as nothing is aggregated every question here costs a look at an empty dict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.aggregation.documents import Document, nothing
from apiserver.aggregation.priorities import Priority, in_order, priority_of
from apiserver.aggregation.remote import GroupVersion, Remote
from apiserver.registry.catalog import Catalog

Json = Mapping[str, Any]


class Aggregated:
    def __init__(self) -> None:
        self.remotes: dict[GroupVersion, Remote] = {}
        self.available: frozenset[str] = frozenset()  # names of those whose status says so
        # By name of the APIService, for as long as it is there.
        self._documents: dict[str, Document] = {}
        self._is_fresh: dict[str, bool] = {}
        self._openapi: dict[str, Mapping[str, str]] = {}

    def remote(self, path: str) -> Remote | None:
        """Whose a path is, where it is not this server's: `/apis/metrics.k8s.io/v1beta1/…`. Ask only `if remotes`."""
        root, _, rest = path.lstrip("/").partition("/")
        if root == "api":
            return self.remotes.get(("", "v1"))
        group, _, rest = rest.partition("/")
        return self.remotes.get((group, rest.partition("/")[0]))

    def groups(self, catalog: Catalog) -> Mapping[str, list[str]]:
        """All groups with their versions, in the order of their priorities."""
        if not self.remotes:
            return catalog.groups()
        found: dict[GroupVersion, Priority] = {
            (group, version): priority_of(group, version)
            for group, versions in catalog.groups().items()
            for version in versions
        }
        found |= {remote.key: Priority(remote.group_priority, remote.version_priority) for remote in self.all()}
        return in_order(found)

    def entry(self, group: str, version: str) -> Json | None:
        """The APIVersionDiscovery of what another server answers for; None for this server's own."""
        remote = self.remotes.get((group, version))
        if remote is None:
            return None
        freshness = "Current" if self._is_fresh.get(remote.name) else "Stale"
        return {**self._documents.get(remote.name, nothing(remote)).entry, "freshness": freshness}

    def openapi(self) -> Mapping[str, tuple[Remote, str]]:
        """`apis/GROUP/VERSION` -> whose document that is, and its URL there."""
        return {
            path: (remote, url)
            for remote in self.all()
            for path, url in self._openapi.get(remote.name, {}).items()
            if path == remote.path.lstrip("/")
        }

    def all(self) -> list[Remote]:
        return list(self.remotes.values())

    # --- keeping it up

    def replace(self, remotes: list[Remote], available: frozenset[str]) -> None:
        self.remotes = {remote.key: remote for remote in remotes}
        self.available = available
        names = {remote.name for remote in remotes}
        for known in (self._documents, self._is_fresh, self._openapi):
            for name in known.keys() - names:
                del known[name]

    def document(self, name: str) -> Document | None:
        return self._documents.get(name)

    def learned(self, name: str, document: Document, openapi: Mapping[str, str]) -> None:
        self._documents[name], self._is_fresh[name], self._openapi[name] = document, True, openapi

    def lost(self, name: str) -> None:
        """What is known may not be so any more."""
        self._is_fresh[name] = False
