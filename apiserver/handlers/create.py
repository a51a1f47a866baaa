"""POST: a new object, or a subresource that is created (a binding, an eviction, a review)."""

from __future__ import annotations

from apiserver.handlers.call import Call
from apiserver.handlers.encoding import encode_object
from apiserver.handlers.response import Response
from apiserver.registry.options import WriteOptions


async def create(call: Call) -> Response:
    """201 and the object as it was stored."""
    options = WriteOptions.parse("CreateOptions", call.query)
    kind = call.target.kind
    obj = call.decoder.read(kind, call.body, options.field_validation, call.warnings)
    call.note_object(obj)
    stored = await call.registry.store(kind).create(obj, call.context(options))
    body = encode_object(kind, stored, call.form, call.now, call.include_object)
    return Response(201, body, call.form.media_type)
