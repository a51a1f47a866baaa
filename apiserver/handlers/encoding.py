"""How objects, lists, tables and events become bytes. Stored objects in JSON are joined, never parsed.

JSON that is not indented ends with a line feed, as Go's encoder writes it (serializer/json/json.go, v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, cast

import orjson
import yaml

from apiserver.handlers.negotiation import PARTIAL, PARTIAL_LIST, YAML, Form
from apiserver.printing.cells import PLAIN_COLUMNS
from apiserver.printing.scale import CUSTOM_SCALE_COLUMNS, SCALE_COLUMNS
from apiserver.printing.table import Convert, partial_metadata, partial_metadata_list, table
from apiserver.registry.catalog import Kind
from apiserver.storage.interface import Stored
from kubeloop.apimachinery.errors import NotAcceptable
from kubeloop.apimachinery.meta import Object

_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write(value: Any, form: Form) -> bytes:
    """A JSON value in the form's media type."""
    if form.media_type == YAML:
        return yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True).encode()
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def object_of(kind: Kind, stored: Stored) -> Object:
    """The object in the version it is asked for, with kind and apiVersion in front."""
    obj = _object_in(stored)
    if kind.conversion is not None:
        obj = kind.conversion.from_stored(obj)
    return {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version, **obj}


def printed_of(kind: Kind, stored: Stored) -> Object:
    """The object that tables and metadata are made from: a built-in one as it is stored, whatever version is asked."""
    if kind.conversion is None:
        return object_of(kind, stored)
    return {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version, **_object_in(stored)}


def _object_in(stored: Stored) -> Object:
    obj = stored.object()
    if not stored.revision:  # a dry run's
        del obj["metadata"]["resourceVersion"]
    return obj


def convert_of(kind: Kind) -> Convert | None:
    """How a printed object becomes one of the version asked for."""
    return None if kind.conversion is None else cast("Convert", kind.conversion.from_stored)


def as_table(
    kind: Kind, objects: Sequence[Object], meta: dict[str, Any], form: Form, now: datetime, include_object: str
) -> dict[str, Any]:
    """The Table of printed objects."""
    convert = convert_of(kind)
    made = table(kind.columns, objects, meta, now, include_object=include_object, version=form.version, convert=convert)
    if not objects and kind.columns is PLAIN_COLUMNS:
        made["rows"] = None  # the real server's printer of kinds without one appends to a nil slice
    return made


def encode_object(
    kind: Kind, stored: Stored, form: Form, now: Callable[[], datetime], include_object: str = ""
) -> bytes:
    """One object. A dry run's has revision 0 and shows no resourceVersion."""
    if form.transform == "Table":
        obj = printed_of(kind, stored)
        meta = _version_of(obj)
        return write(as_table(kind, [obj], meta, form, now(), include_object), form)
    if form.transform == PARTIAL_LIST:
        raise NotAcceptable(f"you requested {PARTIAL_LIST}, but the requested object is not a list ({_go_type(kind)})")
    if form.transform:
        return write(partial_metadata(printed_of(kind, stored), form.version), form)
    if form.media_type == YAML or kind.conversion is not None:
        return write(object_of(kind, stored), form)
    if not stored.revision:
        return b'%b"metadata":{%b\n' % (kind.head, stored.body)
    return stored.encode(kind.head) + b"\n"


def _version_of(obj: Object) -> Object:
    """The metadata of a Table of one object; a dry run has no version."""
    version = obj["metadata"].get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def encode_scale(kind: Kind, scale: Object, form: Form, now: Callable[[], datetime], include_object: str = "") -> bytes:
    """The Scale of a workload of this kind."""
    if form.transform == "Table":
        columns = CUSTOM_SCALE_COLUMNS if kind.is_custom else SCALE_COLUMNS
        meta = _version_of(scale)
        return write(table(columns, [scale], meta, now(), include_object=include_object, version=form.version), form)
    if form.transform == PARTIAL_LIST:
        go_type = "*v1.Scale" if kind.is_custom else "*autoscaling.Scale"
        raise NotAcceptable(f"you requested {PARTIAL_LIST}, but the requested object is not a list ({go_type})")
    return write(partial_metadata(scale, form.version) if form.transform else scale, form)


def encode_list(
    kind: Kind,
    items: Sequence[Stored],
    list_meta: dict[str, Any],
    form: Form,
    now: Callable[[], datetime],
    include_object: str = "",
) -> bytes:
    """A list: items of built-in kinds carry neither kind nor apiVersion, those of custom ones do."""
    if form.transform == "Table":
        objects = [printed_of(kind, stored) for stored in items]
        return write(as_table(kind, objects, list_meta, form, now(), include_object), form)
    if form.transform == PARTIAL:
        raise NotAcceptable(f"you requested {PARTIAL}, but the requested object is a list ({_go_type(kind)}List)")
    if form.transform:
        objects = [printed_of(kind, stored) for stored in items]
        return write(partial_metadata_list(objects, list_meta, form.version), form)
    head = {
        "kind": kind.list_kind or f"{kind.resource.kind}List",
        "apiVersion": kind.resource.api_version,
        "metadata": list_meta,
    }
    if form.media_type == YAML or kind.conversion is not None:
        return write({**head, "items": [_item(kind, stored) for stored in items]}, form)
    opening = kind.head if kind.is_custom else b"{"
    joined = b",".join([stored.encode(opening) for stored in items])
    return b'%b,"items":[%b]}\n' % (orjson.dumps(head)[:-1], joined)


def _go_type(kind: Kind) -> str:
    """The internal type of a kind, by which the real server names it: `*core.Secret`."""
    if kind.is_custom:
        return "*unstructured.Unstructured"
    if kind.resource.kind == "Event":
        return "*core.Event"
    return f"*{kind.group.partition('.')[0] or 'core'}.{kind.resource.kind}"


def _item(kind: Kind, stored: Stored) -> Object:
    obj = object_of(kind, stored)
    return obj if kind.is_custom else {k: v for k, v in obj.items() if k not in ("kind", "apiVersion")}
