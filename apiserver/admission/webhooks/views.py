"""The objects of one write, in whichever version a webhook asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiserver.admission.chain import Attributes
from apiserver.admission.forms import Forms
from kubeloop.apimachinery.errors import ApiError, InternalError
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.resource import Resource


@dataclass(slots=True)
class Shown:
    """With kind and apiVersion; to be read only."""

    object: Object | None
    old_object: Object | None


class Views:
    """Shows the objects of a write and takes a changed one back. What was shown is kept until then."""

    def __init__(self, attributes: Attributes, forms: Forms) -> None:
        self._attributes, self._forms = attributes, forms
        self._shown: dict[Resource, Shown] = {}

    async def shown(self, kind: Resource) -> Shown:
        shown = self._shown.get(kind)
        if shown is None:
            attributes = self._attributes
            shown = self._shown[kind] = Shown(
                await self._in_version(attributes.object, kind), await self._in_version(attributes.old_object, kind)
            )
        return shown

    async def _in_version(self, obj: ReadOnlyObject | None, kind: Resource) -> Object | None:
        if obj is None:
            return None
        try:
            return await self._forms.shown(obj, kind, self._attributes.resource)
        except ApiError as error:  # of the webhook that converts it
            raise InternalError.because(error.message) from error

    async def replace(self, value: Any, kind: Resource) -> bool:
        """Take `value`, an object in the version of `kind`, for the new object; says whether it is another.

        Raises DecodeError where it is none.
        """
        before = (await self.shown(kind)).object
        old = self._shown[kind].old_object
        self._attributes.object = await self._forms.read(value, kind, self._attributes.resource, strict=False)
        after = await self._in_version(self._attributes.object, kind)
        self._shown = {kind: Shown(after, old)}
        return bool(before != after)
