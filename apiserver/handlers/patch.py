"""PATCH: an object, or a subresource, changed by a JSON patch, a merge patch or a strategic merge patch.

Apply patches, which may create, go on to `apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from apiserver.handlers.apply import APPLY_PATCH
from apiserver.handlers.apply import apply as apply_configuration
from apiserver.handlers.bodies import Body
from apiserver.handlers.call import Call
from apiserver.handlers.encoding import encode_object, encode_scale
from apiserver.handlers.matching import match_name
from apiserver.handlers.response import Response
from apiserver.handlers.strictness import operation_problems, repeated_fields
from apiserver.handlers.update import SCALE
from apiserver.patch import json_patch, merge_patch, restoring, strategic_merge
from apiserver.patch.values import go_text
from apiserver.registry.catalog import Kind
from apiserver.registry.options import IGNORE, WriteOptions
from apiserver.schema.codec import DecodeError
from apiserver.schema.json_syntax import TOO_DEEP
from apiserver.schema.json_text import JsonSyntaxError, NumberLiteral, parse
from kubeloop.apimachinery.depth import is_too_deep
from kubeloop.apimachinery.errors import BadRequest, Invalid, UnsupportedMediaType
from kubeloop.apimachinery.field import invalid
from kubeloop.apimachinery.meta import Object

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
_PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
_UNKNOWN_FORMAT = "the body of the request was in an unknown format - accepted media types include: {}"


async def patch(call: Call) -> Response:
    """200 and the object as it is stored now."""
    _check_media_type(call)
    if call.body.media_type == APPLY_PATCH:
        return await apply_configuration(call)
    options = WriteOptions.parse_patch(call.query, is_apply=False)
    kind, context = call.target.kind, call.context(options)
    read = _once(partial(_read, call, options.field_validation == IGNORE))
    if call.target.subresource == "scale":
        change = _scale_change(call, read, options.field_validation)
        scale = await call.registry.scale(kind).patch(change, context)
        body = encode_scale(kind, scale, call.form, call.now, call.include_object)
        return Response(200, body, call.form.media_type)
    change = _object_change(call, read, options.field_validation)
    stored = await call.registry.store(kind).patch(change, context)
    body = encode_object(kind, stored, call.form, call.now, call.include_object)
    return Response(200, body, call.form.media_type)


def _once(read: Callable[[], _Patch]) -> Callable[[], _Patch]:
    """A patch is read only where its object is there, and not again where another writer was faster."""
    found: list[_Patch] = []

    def read_once() -> _Patch:
        if not found:
            found.append(read())
        return found[0]

    return read_once


def _check_media_type(call: Call) -> None:
    """Custom resources have no Go types, by which a strategic merge patch goes; they refuse in other words, too.

    Unlike other media types these must be spelled exactly: the router takes no capitals, what follows it no blanks.
    """
    spelled = call.body.content_type.partition(";")[0]
    if call.target.kind.is_custom:
        if spelled not in (JSON_PATCH, MERGE_PATCH, APPLY_PATCH):
            raise UnsupportedMediaType(_UNKNOWN_FORMAT.format(f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}"))
    elif spelled.strip() not in _PATCHES:
        raise UnsupportedMediaType("415: Unsupported Media Type", details={})
    elif spelled not in _PATCHES:
        raise UnsupportedMediaType(_UNKNOWN_FORMAT.format(", ".join(_PATCHES)))


@dataclass(frozen=True, slots=True)
class _Patch:
    """A patch that was read. `problems` is what strict field validation has against its own text."""

    apply: Callable[[Object], Any]  # the object as the API shows it -> patched
    problems: Sequence[str]
    spelled: Callable[[Object], Any] | None = None  # the same, with numbers as the patch spells them
    quoted: Callable[[], str] | None = None  # how errors quote it; None where they quote the patched object instead
    restored: Callable[[Any], Any] | None = None  # what no decoder took -> the same as other types; or the 422 of it

    def decoded(self, document: Object, decode: Callable[[Any], Object]) -> Object:
        """The patched object; the 422 of a patch whose result is no such object."""
        patched = self.apply(document)
        if self.restored is not None:
            try:
                return decode(patched)
            except DecodeError:
                patched = self.restored(patched)
        try:
            return decode(patched)
        except DecodeError as error:
            quoted = self.quoted() if self.quoted else orjson.dumps(patched, option=orjson.OPT_SORT_KEYS).decode()
            why = str(error) if self.spelled is None else _spelled_error(self.spelled(document), decode, error)
            raise Invalid.of("", "", "", [invalid("patch", quoted, why)]) from error


def _spelled_error(patched: Any, decode: Callable[[Any], Object], error: DecodeError) -> str:
    """What is wrong with an object, read once more with numbers as they are spelled: 1.0 is no 1."""
    try:
        decode(patched)
    except DecodeError as spelled:
        return str(spelled)
    return str(error)


def _read(call: Call, is_lenient: bool) -> _Patch:
    media_type, raw = call.body.media_type, call.body.raw
    sent = _parsed(call.body, is_lenient)
    if media_type == JSON_PATCH:
        problems = operation_problems(raw, sent)
        return _Patch(
            lambda document: _within_depth(json_patch.apply(document, sent, is_lenient=is_lenient)),
            problems,
            lambda document: json_patch.apply(document, NumberLiteral.parse(raw), is_lenient=is_lenient),
        )
    problems = repeated_fields(raw, sent)
    if media_type == MERGE_PATCH:
        return _Patch(
            lambda document: merge_patch.apply(document, sent, is_lenient=is_lenient),
            problems,
            lambda document: merge_patch.apply(document, NumberLiteral.parse(raw), is_lenient=is_lenient),
        )
    node = call.decoder.node(_patched_type(call))

    return _Patch(
        lambda document: strategic_merge.apply(document, sent, node),
        problems,
        quoted=lambda: go_text(sent),
        restored=lambda patched: restoring.restored(patched, sent, node),
    )


def _within_depth(patched: Any) -> Any:
    """Only a JSON patch may put something deep into something deep: merging leaves all where it was."""
    if is_too_deep(patched):
        raise BadRequest(TOO_DEEP)
    return patched


def _patched_type(call: Call) -> tuple[str, str, str]:
    if call.target.subresource == "scale":
        return SCALE
    resource = call.target.kind.resource
    return resource.group, resource.version, resource.kind


def _parsed(body: Body, is_lenient: bool) -> Any:
    """`is_lenient`: who asks for no field validation is refused by another of Go's readers."""
    try:
        return parse(body.raw)
    except JsonSyntaxError as error:
        if is_lenient and body.media_type == MERGE_PATCH:
            raise BadRequest(merge_patch.NO_PATCH) from error
        where = "" if is_lenient or body.media_type == STRATEGIC_MERGE_PATCH else "error decoding patch: "
        raise BadRequest(f"{where}{error}") from error


def _object_change(call: Call, read: Callable[[], _Patch], field_validation: str) -> Callable[[Object], Object]:
    kind, name = call.target.kind, call.target.name

    # Often most of an object: a patch that does not name them is spared the sight of them.
    is_about_entries = b"managedFields" in call.body.raw
    is_strategic = call.body.media_type == STRATEGIC_MERGE_PATCH
    # What a patch of a status leaves as it was stays that of the stored object. On other endpoints admission changes
    # objects in place, so there they are made anew.
    is_of_status = call.target.subresource == "status"

    def change(old: Object) -> Object:
        patch = read()
        entries = None if is_about_entries else old["metadata"].get("managedFields")
        shown = _as_shown(kind, old if entries is None else _without_entries(old))
        new = patch.decoded(
            shown,
            lambda patched: call.decoder.decode(
                kind,
                patched,
                field_validation,
                call.warnings,
                patch.problems,
                is_typed=is_strategic,
                known=shown if is_of_status else None,
            ),
        )
        if entries is not None:
            new["metadata"]["managedFields"] = entries
        match_name(new, name, call.target.namespace)
        return new

    return change


def _scale_change(call: Call, read: Callable[[], _Patch], field_validation: str) -> Callable[[Object], Object]:
    is_strategic = call.body.media_type == STRATEGIC_MERGE_PATCH

    def change(scale: Object) -> Object:
        patch = read()
        new = patch.decoded(
            scale,
            lambda patched: call.decoder.decode_other(
                SCALE, patched, field_validation, call.warnings, patch.problems, is_typed=is_strategic
            ),
        )
        match_name(new, call.target.name, call.target.namespace)
        return new

    return change


def _without_entries(obj: Object) -> Object:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


def _as_shown(kind: Kind, old: Object) -> Object:
    shown = kind.conversion.from_stored(old) if kind.conversion else old
    return {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version, **shown}
