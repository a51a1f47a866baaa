"""Continue tokens: where a list in pages goes on, and as of which revision.

As upstream (apiserver/pkg/storage/continue.go): base64 of {"v", "rv", "start"}, start being the last key shown
and a NUL, relative to what was listed: `name`, or `namespace/name` across namespaces.
"""

from __future__ import annotations

import base64
import re

import orjson

from apiserver.schema.json_text import JsonSyntaxError, parse
from apiserver.storage.interface import Key
from kubeloop.apimachinery.errors import BadRequest

LATEST = -1  # the "revision" of a token that goes on at the newest state (an inconsistent list)

_VERSION = "meta.k8s.io/v1"
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9_-]")


def encode_token(revision: int, last: Key) -> str:
    token = {"v": _VERSION, "rv": revision, "start": f"{last.namespace}/{last.name}\0"}
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
    fields = fields if isinstance(fields, dict) else {}
    version, revision, start = fields.get("v", ""), fields.get("rv", 0), fields.get("start", "")
    if version != _VERSION:
        raise _refused(f"server does not recognize this encoded version {version}")
    if not isinstance(revision, int) or revision == 0:
        raise _refused(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _refused(f"encoded start key empty (version {_VERSION})")
    if not isinstance(start, str) or ".." in start.split("/"):
        raise _refused(str(start))
    first, slash, second = start.removesuffix("\0").removeprefix("/").partition("/")
    return revision, (first, second) if slash else (namespace, first)


def _refused(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {why}")
