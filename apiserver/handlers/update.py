"""PUT: the whole object, or one of its subresources, anew."""

from __future__ import annotations

from apiserver.handlers.call import Call
from apiserver.handlers.encoding import encode_object, encode_scale
from apiserver.handlers.matching import match_name
from apiserver.handlers.response import Response
from apiserver.registry.options import WriteOptions
from apiserver.schema.type_meta import GroupVersionKind

SCALE = GroupVersionKind("autoscaling", "v1", "Scale")


async def update(call: Call) -> Response:
    """200 and the object as it is stored now; 201 where the kind may be created by PUT and was."""
    options = WriteOptions.parse("UpdateOptions", call.query)
    kind, context = call.target.kind, call.context(options)
    if call.target.subresource == "scale":
        scale = call.decoder.read_other(SCALE, call.body, options.field_validation, call.warnings)
        call.note(scale)
        match_name(scale, call.target.name, call.target.namespace)
        scale = await call.registry.scale(kind).update(scale, context)
        body = encode_scale(kind, scale, call.form, call.now, call.include_object)
        return Response(200, body, call.form.media_type)
    obj = call.decoder.read(kind, call.body, options.field_validation, call.warnings)
    call.note_object(obj)
    stored, created = await call.registry.store(kind).update(obj, context)
    body = encode_object(kind, stored, call.form, call.now, call.include_object)
    return Response(201 if created else 200, body, call.form.media_type)
