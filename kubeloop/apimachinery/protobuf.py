"""Request bodies in `application/vnd.kubernetes.protobuf`, as kubectl and client-go send them, read into JSON dicts.

`decode` is all that the API server calls; what comes out is treated like a JSON body from then on. The messages are
described by data/protobuf-fields.json, read at the first such body: field number -> [JSON name, cardinality, type,
marks]. Answers are always JSON, so nothing is written in this format. The wire itself is read in `protobuf_wire`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.protobuf_wire import Chunk, ProtobufError, packed_doubles, packed_integers, read_message
from kubeloop.apimachinery.times import format_micro_time, format_time

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"

_META = "k8s.io.apimachinery.pkg.apis.meta.v1."
_RUNTIME = "k8s.io.apimachinery.pkg.runtime."
_API_EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1."
_SCHEMA = _API_EXTENSIONS + "JSONSchemaProps"
_GROUPS_ELSEWHERE = {"apiextensions.k8s.io": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_DEPTH = 100  # real objects nest some twenty deep; JSON schemas of custom resources deeper


class Field(NamedTuple):
    """One field of a message."""

    name: str
    cardinality: str  # optional, repeated, map
    type: str  # a scalar or a message's name
    is_inline: bool  # its fields stand in the parent
    keeps_zero: bool  # a zero value is not the same as none


def decode(body: bytes, api_version: str = "", kind: str = "") -> Object:
    """The object in `body`; ProtobufError (a ValueError) says why there is none.

    `api_version` and `kind` stand in for those the body leaves out, as the request's path does.
    """
    if not body:
        raise ProtobufError("empty data")
    if not body.startswith(MAGIC):
        prefix = " ".join(str(byte) for byte in MAGIC)
        raise ProtobufError(f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]")
    if body == MAGIC:
        raise ProtobufError("empty body")
    unknown = read_message(body[len(MAGIC) :])
    type_meta = _message(_RUNTIME + "TypeMeta", _joined(unknown.get(1, [])), 0)
    api_version, kind = type_meta.get("apiVersion") or api_version, type_meta.get("kind") or kind
    if not kind:
        raise ProtobufError("Object 'Kind' is missing")
    if not api_version:
        raise ProtobufError("Object 'apiVersion' is missing")
    obj = _value(_message_name(api_version, kind), _joined(unknown.get(2, [])), 0)
    if not isinstance(obj, dict):
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"apiVersion": api_version, "kind": kind, **obj}


@cache
def _table() -> dict[str, dict[str, list[Any]]]:
    text = resources.files("kubeloop.apimachinery").joinpath("data/protobuf-fields.json").read_bytes()
    table: dict[str, dict[str, list[Any]]] = json.loads(text)
    return table


@cache
def _fields(message: str) -> dict[int, Field]:
    return {
        int(number): Field(name, cardinality, type_, "inline" in marks, "pointer" in marks or "always" in marks)
        for number, (name, cardinality, type_, *marks) in _table()[message].items()
    }


def _message_name(api_version: str, kind: str) -> str:
    """The message of a kind; kinds that every group has (DeleteOptions) are meta/v1's."""
    group, _, version = api_version.rpartition("/")
    package = _GROUPS_ELSEWHERE.get(group, f"k8s.io.api.{group.partition('.')[0] or 'core'}")
    for name in (f"{package}.{version}.{kind}", _META + kind):
        if name in _table():
            return name
    raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')


def _message(name: str, data: bytes, depth: int) -> Object:
    """A message as an object; unknown fields are skipped, as every protobuf reader skips them."""
    fields = _fields(name)
    result: Object = {}
    for number, chunks in read_message(data).items():
        described = fields.get(number)
        if described is None:
            continue
        if described.is_inline:
            result.update(_message(described.type, _joined(chunks), depth + 1))
        elif described.cardinality == "map":
            result[described.name] = dict(_entry(described.type, chunk, depth) for chunk in chunks)
        elif described.cardinality == "repeated":
            result[described.name] = _items(described.type, chunks, depth)
        else:
            value = _single(described, chunks, depth)
            if value is not None and (value or described.keeps_zero or not _is_scalar(described.type)):
                result[described.name] = value
    return result


def _single(described: Field, chunks: list[Chunk], depth: int) -> Any:
    """A field that may occur once: of several scalars the last counts, several messages are one in pieces."""
    if _is_scalar(described.type):
        return _SCALARS[described.type](chunks[-1])
    return _value(described.type, _joined(chunks), depth + 1)


def _items(type_: str, chunks: list[Chunk], depth: int) -> list[Any]:
    if not _is_scalar(type_):
        return [_value(type_, _joined([chunk]), depth + 1) for chunk in chunks]
    if type_ in ("string", "bytes"):
        return [_SCALARS[type_](chunk) for chunk in chunks]
    return [_SCALARS[type_](number) for chunk in chunks for number in _unpacked(type_, chunk)]


def _unpacked(type_: str, chunk: Chunk) -> list[Chunk]:
    """The numbers of a packed list, which arrives as one chunk of bytes."""
    if not isinstance(chunk, bytes):
        return [chunk]
    return list(packed_doubles(chunk) if type_ == "double" else packed_integers(chunk))


def _entry(type_: str, chunk: Chunk, depth: int) -> tuple[str, Any]:
    """One key and value of a map, whose absent value is the type's zero."""
    entry = read_message(_joined([chunk]))
    key = _text(entry[1][-1]) if 1 in entry else ""
    chunks = entry.get(2, [])
    if not _is_scalar(type_):
        return key, _value(type_, _joined(chunks), depth + 1)
    return key, _SCALARS[type_](chunks[-1] if chunks else (b"" if type_ in ("string", "bytes") else 0))


def _value(type_: str, data: bytes, depth: int) -> Any:
    """A message as the JSON that stands for it: an object, or what the few special types are written as."""
    if depth > _MAX_DEPTH:
        raise ProtobufError("exceeded max depth")
    special = _SPECIAL.get(type_)
    if special is not None:
        return special(data, depth)
    message = _message(type_, data, depth)
    return message.get("items", []) if _is_list_wrapper(type_) else message


@cache
def _is_list_wrapper(type_: str) -> bool:
    """Whether a message only exists because protobuf has no named lists (ExtraValue, Verbs)."""
    described = list(_fields(type_).values())
    return [(f.name, f.cardinality, _is_scalar(f.type)) for f in described] == [("items", "repeated", True)]


def _is_scalar(type_: str) -> bool:
    return type_ in _SCALARS


def _joined(chunks: list[Chunk]) -> bytes:
    if not all(isinstance(chunk, bytes) for chunk in chunks):
        raise ProtobufError("proto: wrong wireType for a message")
    return b"".join(chunk for chunk in chunks if isinstance(chunk, bytes))


def _text(chunk: Chunk) -> str:
    return _joined([chunk]).decode("utf-8", "replace")


def _base64(chunk: Chunk) -> str:
    return base64.b64encode(_joined([chunk])).decode()


def _integer(chunk: Chunk, bits: int) -> int:
    if not isinstance(chunk, int):
        raise ProtobufError("proto: wrong wireType for a number")
    number = chunk & ((1 << bits) - 1)
    return number - (1 << bits) if number >> (bits - 1) else number


def _double(chunk: Chunk) -> float:
    if not isinstance(chunk, float):
        raise ProtobufError("proto: wrong wireType for a number")
    return chunk


_SCALARS: dict[str, Callable[[Chunk], Any]] = {
    "string": _text,
    "bytes": _base64,
    "bool": lambda chunk: _integer(chunk, 64) != 0,
    "int32": lambda chunk: _integer(chunk, 32),
    "int64": lambda chunk: _integer(chunk, 64),
    "double": _double,
}


def _quantity(data: bytes, _: int) -> str:
    return _text(_last(data, 1, b"")) or "0"


def _int_or_string(data: bytes, _: int) -> int | str:
    if _integer(_last(data, 1, 0), 64) == 1:
        return _text(_last(data, 3, b""))
    return _integer(_last(data, 2, 0), 32)


def _time(data: bytes, _: int) -> str | None:
    moment = _moment(data)
    return None if moment is None else format_time(moment)


def _micro_time(data: bytes, _: int) -> str | None:
    moment = _moment(data)
    return None if moment is None else format_micro_time(moment)


def _moment(data: bytes) -> datetime | None:
    if not data:
        return None
    seconds, nanos = _integer(_last(data, 1, 0), 64), _integer(_last(data, 2, 0), 32)
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise ProtobufError(f"time out of range: {seconds} seconds") from None


def _raw_json(data: bytes, _: int) -> Any:
    raw = _joined([_last(data, 1, b"")])
    if not raw:
        return None
    try:
        return json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ProtobufError(f"embedded JSON cannot be read: {error}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _schema_or_bool(data: bytes, depth: int) -> Any:
    message = read_message(data)
    return _schema(message[2], depth) if 2 in message else _integer(_last(data, 1, 0), 64) != 0


def _schema_or_list(data: bytes, depth: int) -> Any:
    message = read_message(data)
    return _schema(message[1], depth) if 1 in message else _items(_SCHEMA, message.get(2, []), depth)


def _schema_or_texts(data: bytes, depth: int) -> Any:
    message = read_message(data)
    return _schema(message[1], depth) if 1 in message else _items("string", message.get(2, []), depth)


def _schema(chunks: list[Chunk], depth: int) -> Any:
    return _value(_SCHEMA, _joined(chunks), depth + 1)


def _last(data: bytes, number: int, default: Chunk) -> Chunk:
    """The last value of one field of a message."""
    chunks = read_message(data).get(number)
    return chunks[-1] if chunks else default


# Messages that are not written as objects in JSON.
_SPECIAL: dict[str, Callable[[bytes, int], Any]] = {
    "k8s.io.apimachinery.pkg.api.resource.Quantity": _quantity,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    _META + "Time": _time,
    _META + "MicroTime": _micro_time,
    _META + "FieldsV1": _raw_json,
    _RUNTIME + "RawExtension": _raw_json,
    _API_EXTENSIONS + "JSON": _raw_json,
    _SCHEMA + "OrBool": _schema_or_bool,
    _SCHEMA + "OrArray": _schema_or_list,
    _SCHEMA + "OrStringArray": _schema_or_texts,
}
