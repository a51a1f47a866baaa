"""Bodies as bytes: JSON, YAML and protobuf, written as no writer should."""

from __future__ import annotations

import json
import random
from typing import Any

import orjson
import yaml

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
MEDIA_TYPES = (
    "application/cbor", "application/xml", "text/plain", "application/json; charset=utf-16", "application/json;", ";", "/", "*/*",
    "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
    "application/apply-patch+yaml", "application/apply-patch+cbor", "multipart/form-data", "APPLICATION/JSON", "application/json, application/yaml", "x" * 5000,
)  # fmt: skip
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

_JSON_JUNK = (
    b"", b" ", b"null", b"true", b"1", b'"a"', b"[]", b"{}", b"[{}]", b"{", b"}", b"[", b'{"', b'{"a"', b'{"a":', b'{"a":1,}', b"{,}", b"[1,]", b"NaN", b"Infinity", b"-",
    b"1e999", b"-1e999", b"01", b"1.", b".5", b"0x1", b"9" * 5000, b'{"metadata":{"generation":' + b"9" * 5000 + b"}}", b"'a'", b"{a:1}", b'{"a":1}{"b":2}', b'{"a":1}\x00', b"\xef\xbb\xbf{}",
    b"\xff\xfe{\x00}\x00", b'"\xff"', b'{"a":"\xc3\x28"}', b'{"a":"\\ud800"}', b'{"metadata":{"name":"\\ud800\\udc00"}}', b'{"metadata":{"name":"\\udfff"}}', b'{"a":"\\u00"}',
    b'{"a":"\\x"}', b'{"a":"\n"}', b'{"a":"\x00"}', b'{"a":1,"a":2}', b'{"kind":"Pod","kind":"ConfigMap"}', b"[" * 5000, b'{"a":' * 5000, b"[" * 200_000, b'{"a":' * 9000 + b"1" + b"}" * 9000,
    b"[" * 9000 + b"]" * 9000, b"/* c */ {}", b"// c\n{}", b"{}#", b"k8s\x00", b"k8s\x00\xff\xff\xff\xff", b"k8s\x00" + b"\x0a" * 50, b"\x00" * 100, b"\x1f\x8b\x08\x00", b"\xd9\xd9\xf7\xa1aa\x01",
    b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"k8s\x00\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", b"k8s\x00" + b"\x12\x02" * 3000,
)  # fmt: skip
_YAML_JUNK = (
    b"", b"---", b"---\n---\n", b"...", b"a: b: c", b"a:\n\t- b", b"- a\nb: c", b"&a [*a]", b"a: &a\n  b: *a", b"*a", b"a: *b", b"!!python/object:os.system x", b"!!binary x", b"!!binary YQ==",
    b"!!timestamp 2026-13-45", b"a: 2026-13-45", b"a: 2026-01-02", b"a: 2026-01-02T25:00:00Z", b"!!set {a}", b"!!omap [a: 1]", b"!!pairs [a: 1, a: 2]", b"!!int x", b"!!float x", b"!!bool x", b"!!null x", b"!x y",
    b"!<tag:yaml.org,2002:int> 'a'", b"<<: 1", b"<<: [1]", b"<<: *x", b"a: &x {b: 1}\n<<: *x\n<<: *x", b"&x a: *x", b"? [a]\n: b", b"? {a: b}\n: c", b"{? : ?}", b"[1]: 2", b"1: a", b"null: a", b"true: a", b"1.5: a", b"~: ~",
    b"a: .nan", b"a: .inf", b"a: -.inf", b"a: 0o9", b"a: 0b2", b"a: 0x", b"a: 1_0", b"a: 1:30", b"a: 190:20:30.15", b"a: +1", b"a: 09", b"a: 1e999", b"a: " + b"9" * 5000, b"a: =", b"a: y", b"%YAML 9.9\n---\na: b",
    b"%TAG ! x\n--- !a b", b"a: \x00", b"a: \xff", b"\xfe\xff\x00a", b"\xff\xfea\x00", b'a: "\\ud800"', b'a: "\\U00110000"', b'a: "\\x', b"a: |\n x\n  y\n z: 1", b"a: >9\n b", b"a: 'b", b"[" * 3000, b"{" * 3000, b"- " * 3000,
    b"a:\n" + b"".join(b" " * i + b"- \n" for i in range(500)), b"? " * 2000, b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(b"%c: &%c [%b]\n" % (c + 1, c + 1, b",".join([b"*%c" % c] * 9)) for c in range(97, 106)),
    b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: &n a, labels: {a: *n}}\ndata: {a: *n}\n", b"kind: ConfigMap\nkind: Pod", b"metadata:\n  name: 2026-01-02\ndata:\n  a: 1\n", b"@", b"`", b"a: @b", b"\t", b"a\n b: c",
)  # fmt: skip


def encoded(rng: random.Random, value: Any) -> tuple[str, bytes]:
    """A value in one of the media types a server reads, now and then wrongly labelled."""
    chance = rng.random()
    if chance < 0.8:
        media_type, raw = JSON, as_json(value)
    else:
        media_type, raw = YAML, _as_yaml(value)
    if rng.random() < 0.04:
        media_type = rng.choice((JSON, YAML, PROTOBUF, *MEDIA_TYPES))
    return media_type, raw


def spoiled(rng: random.Random, value: Any) -> tuple[str, bytes]:
    """A body that is hardly one."""
    media_type, raw = encoded(rng, value)
    match rng.randrange(7):
        case 0:
            return media_type, rng.choice(_JSON_JUNK)
        case 1:
            return rng.choice((YAML, YAML, JSON)), rng.choice(_YAML_JUNK)
        case 2:
            return media_type, raw[: rng.randrange(len(raw) + 1)]
        case 3:
            return media_type, flipped(rng, raw)
        case 4:
            return media_type, raw + rng.choice((b"{}", b"\x00", b"\n---\n{}", b" ", b",", b"}"))
        case 5:
            return media_type, _with_junk_inside(rng, raw)
    return media_type, _doubled(rng, raw)


def as_json(value: Any) -> bytes:
    """orjson where it can, with lone surrogates and integers of any length where it cannot."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, default=str).encode()


def _as_yaml(value: Any) -> bytes:
    try:
        return yaml.dump(value, Dumper=_Dumper).encode("utf-8", "surrogatepass")
    except (yaml.YAMLError, RecursionError):
        return as_json(value)


def flipped(rng: random.Random, raw: bytes) -> bytes:
    """Some bytes changed."""
    changed = bytearray(raw)
    for _ in range(rng.choice((1, 1, 3, 20))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _with_junk_inside(rng: random.Random, raw: bytes) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + rng.choice(_JSON_JUNK[:40]) + raw[at:]


def _doubled(rng: random.Random, raw: bytes) -> bytes:
    """A piece said twice: a key named again, often."""
    start = rng.randrange(len(raw) + 1)
    end = min(len(raw), start + rng.choice((5, 20, 80)))
    return raw[:end] + b"," + raw[start:]
