"""Request bodies: read, bounded, parsed and decoded into objects of the kind the path names.

JSON, YAML and protobuf come in; what goes on to the store is always a decoded object: types checked, unknown fields
dropped (and warned about or refused, as fieldValidation says), defaults filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.handlers import custom_bodies
from apiserver.handlers.media_parameters import are_well_formed
from apiserver.handlers.negotiation import JSON, PROTOBUF, YAML
from apiserver.handlers.response import Receive
from apiserver.handlers.strictness import repeated_fields, report
from apiserver.registry.catalog import Conversion, Kind
from apiserver.registry.options import IGNORE, Warnings
from apiserver.resources.conversions import CONVERSIONS
from apiserver.schema.codec import DecodeError
from apiserver.schema.definitions import Schema
from apiserver.schema.explanation import explain
from apiserver.schema.json_syntax import TOO_DEEP
from apiserver.schema.json_text import JsonSyntaxError, in_key_order, parse
from apiserver.schema.nodes import TypeNode
from apiserver.schema.type_meta import (
    GroupVersionKind,
    TypeMetaError,
    cannot_be_handled,
    inconvertible,
    json_problem,
    refusal,
    sent_kind,
    unrecognized,
)
from kubeloop.apimachinery import protobuf
from kubeloop.apimachinery.depth import is_too_deep
from kubeloop.apimachinery.errors import BadRequest, RequestEntityTooLarge, UnsupportedMediaType
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.values import value
from kubeloop.apimachinery.yaml_text import parse_yaml, yaml_duplicates

# Upstream's default for JSON and protobuf bodies alike (--max-request-body-bytes is what etcd can take, doubled).
MAX_BODY_BYTES = 3 * 1024 * 1024

_UNKNOWN_FORMAT = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)


@value
class Body:
    """A body as it was sent."""

    raw: bytes
    content_type: str

    @property
    def media_type(self) -> str:
        return self.content_type.partition(";")[0].strip().lower()


def too_large() -> RequestEntityTooLarge:
    return RequestEntityTooLarge(f"Request entity too large: limit is {MAX_BODY_BYTES}")


class HungUp(Exception):
    """The client went away before its request was whole: nobody waits for an answer."""


async def read_body(headers: dict[bytes, bytes], receive: Receive) -> Body:
    """The whole body; 413 as soon as it is known to be too large."""
    if int(headers.get(b"content-length", b"0") or 0) > MAX_BODY_BYTES:
        raise too_large()
    chunks, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HungUp
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise too_large()
        chunks.append(chunk)
        if not message.get("more_body", False):
            break
    raw = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    return Body(raw, headers.get(b"content-type", b"").decode("latin-1"))


def parse_body(body: Body) -> tuple[Any, bytes]:
    """The body's value, and its JSON text where it was JSON (b"" otherwise). Errors are the parsers' own."""
    if body.content_type == JSON:
        return parse(body.raw), body.raw
    media_type = body.media_type or JSON
    if ";" in body.content_type and not are_well_formed(body.content_type):
        raise UnsupportedMediaType(_UNKNOWN_FORMAT)
    if media_type == JSON:
        return parse(body.raw), body.raw
    if media_type == YAML:
        return parse_yaml(body.raw), b""
    if media_type == PROTOBUF:
        value = protobuf.decode(body.raw)
        if is_too_deep(value):
            raise ValueError(TOO_DEEP)
        return value, b""
    raise UnsupportedMediaType(_UNKNOWN_FORMAT)


def repeated_keys(body: Body, value: Any, raw: bytes) -> list[str]:
    """What strict decoding has against keys that a body names twice."""
    if raw:
        return repeated_fields(raw, value)
    return yaml_duplicates(body.raw) if body.media_type == YAML else []


class Decoder:
    """Turns bodies and patched objects into objects of a kind."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def read(self, kind: Kind, body: Body, field_validation: str, warnings: Warnings) -> Object:
        """The object a POST or PUT carries, with defaults."""
        if kind.custom is not None:
            value, raw = self._parsed(body, kind.resource.kind)
            problems = repeated_keys(body, value, raw)
            return custom_bodies.read(kind, kind.custom, value, body.raw, problems, field_validation, warnings)
        obj = self._read(kind.gvk, body, field_validation, warnings)
        return self._finished(kind, obj, kind.conversion)

    def read_other(
        self,
        expected: GroupVersionKind,
        body: Body,
        field_validation: str,
        warnings: Warnings,
        also: Sequence[GroupVersionKind] = (),
    ) -> Object:
        """The object of a subresource whose kind is not the resource's own (Binding, Eviction, Scale, a review).

        `also`: older versions of the kind, of the same fields, which are taken for it.
        """
        return self._read(expected, body, field_validation, warnings, also)

    def decode(
        self,
        kind: Kind,
        value: Any,
        field_validation: str,
        warnings: Warnings,
        problems: Sequence[str] = (),
        *,
        is_typed: bool = False,
        is_applied: bool = False,
        known: Object | None = None,
    ) -> Object:
        """A patched value as an object of `kind`, with defaults. Raises DecodeError, also for unknown fields (Strict).

        What a patch makes of kind and apiVersion counts: the value is read as that, and refused if it is another.
        `problems` is what strict decoding says of the patch itself. `is_typed`: a strategic merge patch made the value,
        of whose kind there is no doubt, and of which unknown fields are told in the order of their paths.
        `is_applied`: it was merged by an apply, which keeps nulls.
        `known` is the object that was patched: its fields that the patch left as they were are not looked at again.
        """
        if kind.custom is not None:
            custom = kind.custom
            return custom_bodies.decode(
                kind, custom, value, problems, field_validation, warnings, keeps_nulls=is_applied
            )
        of = kind.gvk
        if not is_typed:
            of = self._patched_type(of, value)
            if nameless := _nameless(value):
                report([*problems, *nameless], field_validation, warnings)
                return {"metadata": {}}
        if kind.conversion is not None or of != kind.gvk:
            known = None  # it was made as another version, or is read as one
        decoded = self._decoded(of, value, b"", field_validation, warnings, problems, is_typed=is_typed, known=known)
        return self._finished(kind, decoded, CONVERSIONS.get(of), known)

    def _patched_type(self, expected: GroupVersionKind, value: Any) -> GroupVersionKind:
        """What a patched value says that it is: `expected`, or another version of it. Raises DecodeError otherwise."""
        try:
            sent = sent_kind(value, expected)
        except TypeMetaError as error:
            raise DecodeError(str(error)) from error
        if sent == expected:
            return sent
        is_defined = bool(self._schema.definition_name(*sent))
        if is_defined:
            self._schema.codec(*sent).decode(value)
        if why := inconvertible(self._schema, sent, expected):
            raise DecodeError(why)
        if not is_defined:  # a version no longer served, which only the real server can still read
            raise BadRequest(refusal(self._schema, sent, expected))
        return sent

    def decode_other(
        self,
        of: GroupVersionKind,
        value: Any,
        field_validation: str,
        warnings: Warnings,
        problems: Sequence[str] = (),
        *,
        is_typed: bool = False,
    ) -> Object:
        """A patched value of a kind that has no resource of its own (Scale). Raises DecodeError."""
        return self._decoded(of, value, b"", field_validation, warnings, problems, is_typed=is_typed)

    def node(self, of: tuple[str, str, str]) -> TypeNode:
        """The type that a strategic merge patch of a kind goes by."""
        return self._schema.codec(*of).node

    def decode_options(self, kind: str, value: Any, raw: bytes) -> Object:
        """Options of meta/v1. Raises DecodeError."""
        return self._schema.codec("", "v1", kind).decode(value, raw=raw).object

    def _finished(self, kind: Kind, obj: Object, conversion: Conversion | None, known: Object | None = None) -> Object:
        """In the stored version, without kind and apiVersion, with defaults."""
        obj.pop("kind", None)
        obj.pop("apiVersion", None)
        obj.setdefault("metadata", {})
        if conversion is not None:
            obj = conversion.to_stored(obj)
        if known is not None and obj.get("spec") is known.get("spec"):
            kind.strategy.default_status(obj)
        else:
            kind.strategy.default(obj)
        return obj

    def _read(
        self,
        expected: GroupVersionKind,
        body: Body,
        field_validation: str,
        warnings: Warnings,
        also: Sequence[GroupVersionKind] = (),
    ) -> Object:
        value, raw = self._parsed(body, expected.kind)
        try:
            sent = sent_kind(value, expected)
        except TypeMetaError as error:
            raise BadRequest(unrecognized(expected.kind, error, body.raw)) from error
        if sent not in also and (why := refusal(self._schema, sent, expected)):
            raise BadRequest(why)
        try:
            is_strict_yaml = not raw and body.media_type == YAML and field_validation != IGNORE
            repeated = yaml_duplicates(body.raw) if is_strict_yaml else ()
            return self._decoded(expected, value, raw, field_validation, warnings, repeated)
        except DecodeError as error:
            raise BadRequest(cannot_be_handled(expected, expected.kind, str(error))) from error

    def _parsed(self, body: Body, kind: str) -> tuple[Any, bytes]:
        try:
            return parse_body(body)
        except JsonSyntaxError as error:
            raise BadRequest(unrecognized(kind, json_problem(error), body.raw)) from error
        except ValueError as error:
            raise BadRequest(unrecognized(kind, error, body.raw)) from error

    def _decoded(
        self,
        of: GroupVersionKind,
        value: Any,
        raw: bytes,
        field_validation: str,
        warnings: Warnings,
        problems: Sequence[str] = (),
        *,
        is_typed: bool = False,
        known: Object | None = None,
    ) -> Object:
        codec = self._schema.codec(*of)
        decoded = codec.decode(value, raw=raw, known=known)
        unknown = decoded.problems
        if len(unknown) > 1 and not raw:  # what was no JSON text was made one by Go, which sorts keys
            unknown = sorted(unknown) if is_typed else explain(codec.node, in_key_order(value))
        report([*problems, *unknown], field_validation, warnings)
        return decoded.object


def _nameless(value: Any) -> list[str]:
    """What is said of a patched value that does not say its version any more.

    The real server reads it into its internal type, which finds nothing there under the names it knows.
    """
    if isinstance(value, dict) and value.get("apiVersion"):
        return []
    return [f"unknown field {go_quote(name)}" for name in sorted(value or ()) if name not in ("apiVersion", "kind")]
