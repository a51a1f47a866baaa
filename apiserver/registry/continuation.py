"""Continue tokens: where a list in pages goes on, and as of which revision.

As upstream (apiserver/pkg/storage/continue.go): base64 of {"v", "rv", "start"}, start being the last key shown
and a NUL, relative to what was listed: `name`, or `namespace/name` across namespaces.
"""

from __future__ import annotations

import base64
import re
from typing import Any

import orjson

from apiserver.schema.json_text import JsonSyntaxError, parse
from apiserver.storage.interface import Key
from kubeloop.apimachinery.errors import BadRequest

LATEST = -1  # the "revision" of a token that goes on at the newest state (an inconsistent list)

_VERSION = "meta.k8s.io/v1"
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9_-]")


# The fields of a token, their types and what Go calls these.
_FIELDS = (("v", str, "string"), ("rv", int, "int64"), ("start", str, "string"))


def encode_token(revision: int, last: Key, namespace: str) -> str:
    """`namespace` is the one listed, "" for a list of everything."""
    start = last.name if namespace or not last.namespace else f"{last.namespace}/{last.name}"
    token = {"v": _VERSION, "rv": revision, "start": f"{start}\0"}
    return base64.urlsafe_b64encode(orjson.dumps(token)).rstrip(b"=").decode()


def decode_token(token: str, namespace: str) -> tuple[int, tuple[str, str]]:
    """(revision, (namespace, name) of the last object shown); BadRequest in upstream's words."""
    if wrong := _NOT_BASE64.search(token):
        raise _refused(f"illegal base64 data at input byte {wrong.start()}")
    if len(token) % 4 == 1:
        raise _refused(f"illegal base64 data at input byte {len(token) - 1}")
    try:
        fields = parse(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except JsonSyntaxError as error:
        raise _refused(str(error)) from error
    version, revision, start = _read(fields)
    if version != _VERSION:
        raise _refused(f"server does not recognize this encoded version {version}")
    if revision == 0:
        raise _refused(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _refused(f"encoded start key empty (version {_VERSION})")
    key = start if start.startswith("/") else f"/{start}"
    if _clean(key) != key:
        raise _refused(start)
    first, slash, second = start.removesuffix("\0").removeprefix("/").partition("/")
    return revision, (first, second) if slash else (namespace, first)


def _read(fields: Any) -> tuple[str, int, str]:
    """v, rv and start; what is absent is empty, and what is of another type is refused in encoding/json's words."""
    if fields is None:
        fields = {}
    if not isinstance(fields, dict):
        raise _refused(f"json: cannot unmarshal {_json_type(fields)} into Go value of type storage.continueToken")
    values: list[Any] = []
    for name, kind, go_type in _FIELDS:
        value = fields.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            found = f"number {value}" if isinstance(value, float) and kind is int else _json_type(value)
            where = f"Go struct field continueToken.{name} of type {go_type}"
            raise _refused(f"json: cannot unmarshal {found} into {where}")
        values.append(kind() if value is None else value)
    version, revision, start = values
    return version, revision, start


def _json_type(value: Any) -> str:
    names = ((bool, "bool"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in names if isinstance(value, kind)), "number")


def _clean(path: str) -> str:
    """As path.Clean of Go: an absolute path without empty, `.` and `..` segments."""
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    return "/" + "/".join(segments)


def _refused(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {why}")
