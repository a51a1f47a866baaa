"""The paths of the OpenAPI documents that belong to no kind: what discovery and /version answer.

`openapi` calls it. Each root is a document of its own in version 3 (`api`, `apis`, `apis/apps`, `version`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.schema.openapi_paths import MEDIA_TYPES, META, Operation, ServedKind, group_in_id, ref, tag_of

_INFO = "io.k8s.apimachinery.pkg.version.Info"


@dataclass(frozen=True, slots=True)
class Root:
    """One path that is read, and the schema of its answer."""

    url: str
    operation_id: str
    tag: str
    description: str
    component: str
    media_types: Sequence[str] = MEDIA_TYPES

    def path(self) -> tuple[str, Operation]:
        content = {media_type: {"schema": ref(self.component)} for media_type in self.media_types}
        operation = {
            "tags": [self.tag],
            "description": self.description,
            "operationId": self.operation_id,
            "responses": {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}},
        }
        return self.url, {"get": operation}


_FIXED: Mapping[str, Root] = {
    "api": Root("/api/", "getCoreAPIVersions", "core", "get available API versions", f"{META}.APIVersions"),
    "apis": Root("/apis/", "getAPIVersions", "apis", "get available API versions", f"{META}.APIGroupList"),
    "version": Root(
        "/version/",
        "getCodeVersion",
        "version",
        "get the version information for this server",
        _INFO,
        ("application/json",),
    ),
}


def roots_of(groups: Iterable[str]) -> Mapping[str, Root]:
    """The roots by the name of their document; `groups` are those of the built-in kinds, the core's left out."""
    return {
        **_FIXED,
        **{
            f"apis/{group}": Root(
                f"/apis/{group}/",
                f"get{group_in_id(group)}APIGroup",
                tag_of(group),
                "get information of a group",
                f"{META}.APIGroup",
            )
            for group in groups
        },
    }


def resources_of(served: ServedKind) -> Root:
    """Where discovery tells what the group version of that kind has; it stands in that version's document."""
    return Root(
        f"/{served.group_version_path}/",
        f"get{group_in_id(served.group)}{served.version.capitalize()}APIResources",
        f"{tag_of(served.group)}_{served.version}",
        "get available resources",
        f"{META}.APIResourceList",
    )
