"""Request number N of a seed: always the same one, whatever was sent before it."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apiserver.registry.catalog import Kind
from apiserver.resources.catalog import KINDS
from tests.fuzz import junk, queries, texts
from tests.fuzz.customs import CUSTOM_PATHS, custom_object, definition
from tests.fuzz.instances import NAMES, Instances
from tests.fuzz.recorded import Recorded, recorded
from tests.fuzz.request import ADMIN, Request, http
from tests.fuzz.wires import broken

NAMESPACE = "fuzz"
_VECTORS = Path(__file__).parents[1] / "unit/apimachinery/data/protobuf-vectors.json"
_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
# Stored, such objects would have a say in what everybody else may write.
_POWERFUL = "/apis/admissionregistration.k8s.io/"

Headers = list[tuple[bytes, bytes]]


class Generator:
    """`request(number)` is all there is to it."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._instances = Instances()
        self._recorded = recorded(NAMESPACE)
        self._vectors = [
            (
                vector["request"].partition(" ")[2].replace("/pv/", f"/{NAMESPACE}/"),
                base64.b64decode(vector["body_base64"]),
            )
            for vector in json.loads(_VECTORS.read_text())
        ]
        self._real: dict[str, list[Any]] = {}
        for step in self._recorded:
            plural = step.path.partition("?")[0].rpartition("/")[2]
            if step.method == "POST" and type(step.body) is dict:
                self._real.setdefault(plural, []).append(step.body)
        families: tuple[tuple[int, Callable[[random.Random], Request]], ...] = (
            (24, self._write),
            (20, self._patch),
            (10, self._unreadable),
            (10, self._from_a_recording),
            (10, self._read),
            (6, self._delete),
            (5, self._subresource),
            (5, self._custom),
            (3, self._protobuf),
            (3, self._path),
            (3, self._headers),
            (1, self._wire),
        )
        self._families = [make for share, make in families for _ in range(share)]

    def request(self, number: int) -> Request:
        rng = random.Random(f"{self._seed}:{number}")
        return rng.choice(self._families)(rng)

    def _write(self, rng: random.Random) -> Request:
        """An object of any kind, with something wrong in it, created or put."""
        kind = rng.choice(KINDS)
        obj = self._object(rng, kind, rng.choice((0, 1, 1, 1, 2, 4)))
        creates = rng.random() < 0.6
        path = _collection(rng, kind) if creates else _named(rng, kind)
        return _send(rng, "write", "POST" if creates else "PUT", path, *texts.encoded(rng, obj), queries.WRITE)

    def _unreadable(self, rng: random.Random) -> Request:
        kind = rng.choice(KINDS)
        obj = self._instances.of(rng, kind, NAMESPACE)
        method, path = rng.choice(
            (("POST", _collection(rng, kind)), ("PUT", _named(rng, kind)), ("DELETE", _named(rng, kind)))
        )
        media_type, body = texts.spoiled(rng, obj)
        if rng.random() < 0.2:
            method, media_type = "PATCH", rng.choice(_PATCHES)
        return _send(rng, "body", method, path, media_type, body, queries.WRITE)

    def _patch(self, rng: random.Random) -> Request:
        kind = rng.choice(KINDS)
        media_type = rng.choice(_PATCHES)
        obj = self._object(rng, kind, rng.choice((0, 0, 1, 1, 2)))
        patch: Any = _operations(rng, obj) if media_type == _PATCHES[0] else _as_patch(rng, obj)
        path = _named(rng, kind)
        if media_type == _PATCHES[3] and rng.random() < 0.9:
            path += (
                "?fieldManager=" + rng.choice("abc") + rng.choice(("", "", "&force=true", "&fieldValidation=Strict"))
            )
        return _send(rng, "patch", "PATCH", path, media_type, texts.as_json(patch), queries.WRITE)

    def _from_a_recording(self, rng: random.Random) -> Request:
        step: Recorded = rng.choice(self._recorded)
        if step.body is None:
            return _send(rng, "recorded", step.method, step.path, "", None, queries.LIST)
        body = junk.mutate(rng, junk.copied(step.body), rng.choice((0, 0, 1, 1, 2, 3)))
        media_type, raw = texts.encoded(rng, body)
        if step.method == "PATCH":
            media_type = step.type or rng.choice(_PATCHES)
        return _send(rng, "recorded", step.method, step.path, media_type, raw, queries.WRITE)

    def _read(self, rng: random.Random) -> Request:
        kind = rng.choice(KINDS)
        named = rng.random() < 0.25
        path = _named(rng, kind) if named else _collection(rng, kind)
        headers: Headers = []
        if rng.random() < 0.3:
            headers.append((b"Accept", rng.choice(_ACCEPTS)))
        method = "GET" if rng.random() < 0.95 else "HEAD"
        return Request("read", http(method, f"{path}?{queries.query(rng, queries.LIST)}", headers))

    def _delete(self, rng: random.Random) -> Request:
        kind = rng.choice(KINDS)
        path = _named(rng, kind) if rng.random() < 0.8 else _collection(rng, kind)
        if rng.random() < 0.4:
            return _send(rng, "delete", "DELETE", path, "", None, queries.DELETE, 0.9)
        options = self._instances.of_type(rng, "", "v1", "DeleteOptions", "")
        options.pop("metadata")
        options = junk.mutate(rng, options, rng.choice((0, 1, 2)))
        return _send(rng, "delete", "DELETE", path, *texts.encoded(rng, options), queries.DELETE)

    def _subresource(self, rng: random.Random) -> Request:
        kind = rng.choice([kind for kind in KINDS if kind.subresources])
        sub = rng.choice(kind.subresources)
        path = f"{_named(rng, kind)}/{sub.name if rng.random() < 0.95 else junk.text(rng)[:50]}"
        path = queries.quote(path, safe="/%?=&")
        method = rng.choice(("GET", "PUT", "PATCH", "POST", "DELETE", "HEAD"))
        if method in ("GET", "HEAD"):
            return Request("subresource", http(method, f"{path}?{queries.query(rng)}"))
        of_sub = self._instances.of_type(
            rng, sub.group or kind.group, sub.version or kind.resource.version, sub.kind, NAMESPACE
        )
        value = junk.mutate(rng, of_sub, rng.choice((0, 1, 2)))
        media_type, body = texts.encoded(rng, value)
        if method == "PATCH":
            media_type = rng.choice(_PATCHES)
            body = texts.as_json(_operations(rng, value) if media_type == _PATCHES[0] else _as_patch(rng, value))
        return _send(rng, "subresource", method, path, media_type, body, queries.WRITE)

    def _custom(self, rng: random.Random) -> Request:
        """Definitions with junk in their schemas, and objects of definitions that are in order."""
        if rng.random() < 0.4:
            crd = junk.mutate(rng, definition(rng), rng.choice((0, 1, 1, 2)))
            method, path = rng.choice((("POST", ""), ("PUT", "/fuzzes.example.com"), ("PATCH", "/fuzzes.example.com")))
            media_type, body = texts.encoded(rng, crd)
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" + path
            return _send(
                rng,
                "crd",
                method,
                path,
                rng.choice(_PATCHES[1:]) if method == "PATCH" else media_type,
                body,
                queries.WRITE,
            )
        collection = rng.choice(CUSTOM_PATHS).replace("NS", NAMESPACE)
        obj = junk.mutate(rng, custom_object(rng, collection), rng.choice((0, 1, 2, 3)))
        method = rng.choice(("POST", "PUT", "PATCH", "PATCH", "GET", "DELETE"))
        path = (
            collection
            if method == "POST"
            else f"{collection}/{queries.name(rng, NAMES)}" + rng.choice(("", "", "/status", "/scale"))
        )
        if method in ("GET", "DELETE"):
            return _send(rng, "custom", method, path if rng.random() < 0.4 else collection, "", None, queries.LIST, 0.9)
        media_type, body = texts.encoded(rng, obj)
        if method == "PATCH":
            media_type = rng.choice((*_PATCHES, _PATCHES[3]))
            body = texts.as_json(_operations(rng, obj) if media_type == _PATCHES[0] else _as_patch(rng, obj))
            path += "?fieldManager=a" if media_type == _PATCHES[3] else ""
        return _send(rng, "custom", method, path, media_type, body, queries.WRITE)

    def _protobuf(self, rng: random.Random) -> Request:
        path, body = rng.choice(self._vectors)
        return _send(rng, "protobuf", "POST", path, texts.PROTOBUF, texts.flipped(rng, body), queries.WRITE)

    def _path(self, rng: random.Random) -> Request:
        method = rng.choice(("GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PURGE"))
        return Request(
            "path",
            http(method, queries.path(rng), body=None if method in ("GET", "HEAD") else b"{}"),
            is_http=False,
            is_api=False,
        )

    def _headers(self, rng: random.Random) -> Request:
        kind = rng.choice(KINDS)
        name = rng.choice(_HEADERS)
        value = rng.choice(
            (
                *_ACCEPTS,
                *(text.encode("utf-8", "replace") for text in junk.TEXTS[:-1]),
                b"x" * 20_000,
                b"\xff",
                b"Bearer",
                b"Bearer  ",
                b"Bearer a.b.c",
                b"Basic YTpi",
            )
        )
        value = (
            value.replace(b"\r", b"")
            .replace(b"\n", b"")
            .replace(b"\0", b"")
            .replace(b"\x1b", b"")
            .replace(b"\x7f", b"")
        )
        headers: Headers = [(name, value)] * rng.choice((1, 1, 2))
        if name.startswith(b"Impersonate-") and rng.random() < 0.7:
            headers.append((b"Impersonate-User", b"alice"))
        host, authorization = b"127.0.0.1", ADMIN
        if name == b"Host":
            host, headers = value, []
        elif name == b"Authorization":
            authorization, headers = value, []
        method, body = rng.choice((("GET", None), ("POST", b"{}")))
        raw = http(method, _collection(rng, kind), headers, body, host=host, authorization=authorization)
        return Request("headers", raw, is_http=len(value) < 10_000 and name != b"Host", is_api=name != b"Host")

    def _wire(self, rng: random.Random) -> Request:
        kind = rng.choice(KINDS)
        return broken(rng, _collection(rng, kind), texts.as_json(self._instances.of(rng, kind, NAMESPACE)))

    def _object(self, rng: random.Random, kind: Kind, mistakes: int) -> Any:
        real = self._real.get(kind.plural)
        if real and rng.random() < 0.6:
            obj = junk.copied(rng.choice(real))
            if type(obj.get("metadata")) is dict and rng.random() < 0.7:
                obj["metadata"]["name"] = rng.choice(NAMES)
        else:
            obj = self._instances.of(rng, kind, NAMESPACE)
        return junk.mutate(rng, obj, mistakes)


_ACCEPTS = (
    b"*/*", b"application/json", b"application/yaml", b"application/json;as=Table;v=v1;g=meta.k8s.io", b"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", b"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    b"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", b"application/yaml;as=Table;v=v1;g=meta.k8s.io", b"application/json;as=Table;v=v9;g=x", b"application/vnd.kubernetes.protobuf", b"application/cbor", b"text/html",
    b"application/json;q=x", b"application/json;q=nan", b"application/json;q=-1", b"*/*;q=inf", b";", b",", b"/", b"application/*", b"application/json;stream=watch", b"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", b"a" * 9000,
)  # fmt: skip
_HEADERS = (b"Accept", b"Content-Type", b"Authorization", b"Host", b"Impersonate-User", b"Impersonate-Group", b"Impersonate-Uid", b"Impersonate-Extra-%41%zz", b"Impersonate-Extra-a", b"Impersonate-Extra-",
            b"User-Agent", b"Accept-Encoding", b"Content-Encoding", b"If-None-Match", b"Range", b"X-Forwarded-For", b"Origin", b"Cookie", b"Audit-ID", b"Traceparent", b"Kubectl-Command", b"Upgrade", b"Expect", b"Connection", b"X")  # fmt: skip


def _send(
    rng: random.Random,
    family: str,
    method: str,
    path: str,
    media_type: str,
    body: bytes | None,
    options: tuple[str, ...],
    ask: float = 0.25,
) -> Request:
    if path.startswith(_POWERFUL) and method in ("POST", "PUT", "PATCH"):
        path += ("&" if "?" in path else "?") + "dryRun=All"
    elif rng.random() < ask:
        path += ("&" if "?" in path else "?") + queries.query(rng, options)
    headers: Headers = [(b"Content-Type", media_type.encode())] if media_type else []
    if rng.random() < 0.05:
        headers.append((b"Accept", rng.choice(_ACCEPTS)))
    return Request(family, http(method, path, headers, body))


def _collection(rng: random.Random, kind: Kind) -> str:
    head = f"/apis/{kind.group}" if kind.group else "/api"
    within = f"/namespaces/{queries.name(rng, (NAMESPACE,))}" if kind.resource.namespaced else ""
    return f"{head}/{kind.resource.version}{within}/{kind.plural}"


def _named(rng: random.Random, kind: Kind) -> str:
    return f"{_collection(rng, kind)}/{queries.name(rng, NAMES)}"


def _as_patch(rng: random.Random, obj: Any) -> Any:
    """A part of an object, with directives."""
    if type(obj) is dict and rng.random() < 0.5:
        for key in [key for key in obj if key not in ("apiVersion", "kind", "metadata", "spec") and rng.random() < 0.5]:
            del obj[key]
    return junk.mutate(rng, obj, 1) if rng.random() < 0.5 else obj


def _operations(rng: random.Random, obj: Any) -> Any:
    """A JSON patch about places that an object like this has."""
    pointers = [
        "",
        "/",
        "/metadata/labels",
        "/metadata/labels/a~1b",
        "/metadata/name",
        "/spec",
        "/spec/-",
        "/metadata/finalizers/-",
        "/metadata/finalizers/0",
        "/a~2",
        "/metadata/~",
        "a",
    ]
    pointers += [*_pointers(obj, "")] or [""]
    operations: list[Any] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = rng.choice(("add", "replace", "remove", "test", "move", "copy"))
        operation: dict[str, Any] = {"op": name, "path": rng.choice(pointers)}
        if name in ("add", "replace", "test"):
            operation["value"] = junk.value(rng)
        if name in ("move", "copy"):
            operation["from"] = rng.choice(pointers)
        operations.append(operation)
    return junk.mutate(rng, operations, rng.choice((0, 0, 1, 2)))


def _pointers(value: Any, at: str) -> Any:
    items = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    for key, item in items:
        pointer = f"{at}/{str(key)[:50].replace('~', '~0').replace('/', '~1')}"
        yield pointer
        yield from _pointers(item, pointer)
