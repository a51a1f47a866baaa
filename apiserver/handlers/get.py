"""GET on one object or one of its subresources."""

from __future__ import annotations

from apiserver.handlers.call import Call
from apiserver.handlers.encoding import encode_object, encode_scale
from apiserver.handlers.response import Response
from apiserver.registry.listing import revision_complaint
from apiserver.registry.options import first
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.numbers import parse_uint


async def get(call: Call) -> Response:
    """The object, or its Scale. A resourceVersion asks for a state at least as new."""
    await _wait_for_version(call)
    kind, context = call.target.kind, call.context()
    if call.target.subresource == "scale":
        scale = await call.registry.scale(kind).get(context)
        body = encode_scale(kind, scale, call.form, call.now, call.include_object)
        return Response(200, body, call.form.media_type)
    stored = await call.registry.store(kind).get(context)
    body = encode_object(kind, stored, call.form, call.now, call.include_object)
    return Response(200, body, call.form.media_type)


async def _wait_for_version(call: Call) -> None:
    version = first(call.query, "resourceVersion") if call.query else ""
    if not version or version == "0":
        return
    if complaint := revision_complaint(version):
        raise ApiError(complaint, code=500)
    await call.registry.lister.wait_for(parse_uint(version))
