"""DELETE on one object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from apiserver.handlers.bodies import parse_body
from apiserver.handlers.call import Call
from apiserver.handlers.encoding import encode_object
from apiserver.handlers.response import Response, success
from apiserver.registry.options import DeleteOptions
from apiserver.schema.codec import DecodeError
from apiserver.schema.json_text import JsonSyntaxError
from apiserver.schema.type_meta import GroupVersionKind, TypeMetaError, sent_kind
from kubeloop.apimachinery.errors import BadRequest
from kubeloop.apimachinery.field import go_quote

_DELETE_OPTIONS = GroupVersionKind("meta.k8s.io", "v1", "DeleteOptions")
_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"


async def delete(call: Call) -> Response:
    """A Status where the object is gone; the object itself where it waits, or where its kind says so."""
    options = delete_options(call)
    kind = call.target.kind
    context = replace(call.context(), dry_run=options.dry_run, options=options.shown())
    deleted = await call.registry.deleter(kind).delete(context, options)
    if not deleted.removed or kind.strategy.returns_object_on_delete:
        body = encode_object(kind, deleted.stored, call.form, call.now, call.include_object)
        # Upstream says "accepted" only to those who ask for it in the old words.
        code = 202 if not deleted.removed and options.orphan_dependents is False else 200
        return Response(code, body, call.form.media_type)
    uid = deleted.stored.object()["metadata"]["uid"]
    details = {"name": call.target.name, "group": kind.group, "kind": kind.plural, "uid": uid}
    return success({key: value for key, value in details.items() if value})


def delete_options(call: Call) -> DeleteOptions:
    """DeleteOptions from the body where there is one, else from the query."""
    if not call.body.raw:
        return DeleteOptions.parse(call.query, None)
    try:
        value, raw = parse_body(call.body)
    except JsonSyntaxError as error:
        raise BadRequest(f"couldn't get version/kind; json parse error: {error}") from error
    except ValueError as error:
        raise BadRequest(str(error)) from error
    _check_kind(value)
    value = value or {}
    try:
        decoded = call.decoder.decode_options("DeleteOptions", value, raw)
    except DecodeError as error:
        raise BadRequest(str(error)) from error
    call.note(decoded)
    return DeleteOptions.parse(call.query, decoded)


def _check_kind(value: Any) -> None:
    try:
        sent = sent_kind(value, _DELETE_OPTIONS)
    except TypeMetaError as error:
        raise BadRequest(str(error)) from error
    if sent.kind != _DELETE_OPTIONS.kind:  # of which every group has one
        what = f"no kind {go_quote(sent.kind)} is registered for version {go_quote(sent.api_version)}"
        raise BadRequest(f'{what} in scheme "{_SCHEME}"')
