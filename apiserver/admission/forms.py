"""The forms an object has: the versions it is served in, and the one that admission works on.

That is the stored version of built-in kinds, and of custom kinds the version the request came in.

Plugins that show objects to others (policies, webhooks) and take changed ones back ask for these. Implemented by
`registry/forms.py`, which knows the catalog and the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from apiserver.patch.server_side_apply.shapes import Shape
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.resource import Resource


class Forms(Protocol):
    """The served resources, and the ways between their versions."""

    def taken_by(self, resource: Resource, subresource: str) -> Resource:
        """The resource with the kind its endpoint takes: itself, or a Scale, a Binding, an Eviction below it."""

    def equivalents(self, resource: Resource, subresource: str) -> Sequence[Resource]:
        """Every served resource that shows the same objects, this one among them."""

    def of_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The served resource of a kind in exactly this version."""

    def storage(self, resource: Resource) -> str:
        """Where its objects are stored, as a Reader names it."""

    def shape(self, resource: Resource) -> Shape | None:
        """How server-side apply sees its objects; None where nothing is known of them.

        `resource` may be what `taken_by` gives, here and below: a Scale, a Binding and the like have one version only.
        """

    async def shown(self, obj: ReadOnlyObject, resource: Resource, held: Resource) -> Object:
        """An object of a write to `held` in the version of `resource`, with kind and apiVersion.

        A custom object that says of which version it is, as a Reader's do, is taken to be of that one. May share parts
        with it. Raises the ApiError of a webhook that cannot convert it.
        """

    async def read(self, value: Any, resource: Resource, held: Resource, *, strict: bool = True) -> Object:
        """What `shown` gives, changed: decoded, with defaults, as the write to `held` goes on with it.

        Fields that are not known are refused, or dropped where it need not be `strict`. Raises DecodeError, and the
        ApiError of a webhook.
        """
