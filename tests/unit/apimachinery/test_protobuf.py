"""Protobuf request bodies: what kubectl sends, and what nobody should."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubeloop.apimachinery import protobuf
from kubeloop.apimachinery.protobuf_wire import ProtobufError

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/protobuf-vectors.json").read_text())
BODIES = [base64.b64decode(vector["body_base64"]) for vector in VECTORS]


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    result = b""
    while number >= 0x80:
        result, number = result + bytes([number & 0x7F | 0x80]), number >> 7
    return result + bytes([number])


def chunk(number: int, value: int | bytes | str) -> bytes:
    """One field on the wire."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    return protobuf.MAGIC + chunk(1, chunk(1, api_version) + chunk(2, kind)) + chunk(2, raw)


def missing(sent: Any, answered: Any, path: str = "") -> list[str]:
    """Where `sent` says something that `answered` does not."""
    if isinstance(sent, dict) and isinstance(answered, dict):
        return [
            at
            for key, value in sent.items()
            if key in answered or value not in ({}, [], "")
            for at in missing(value, answered.get(key), f"{path}.{key}")
        ]
    if isinstance(sent, list) and isinstance(answered, list) and len(sent) == len(answered):
        return [at for i, value in enumerate(sent) for at in missing(value, answered[i], f"{path}[{i}]")]
    return [] if sent == answered else [path]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["request"].rsplit("/", 1)[1])
def test_bodies_of_kubectl_say_what_the_server_made_of_them(vector: dict[str, Any]) -> None:
    """Everything kubectl put into a body stands in the object the real server answered with, or was its to decide."""
    decoded = protobuf.decode(base64.b64decode(vector["body_base64"]))

    assert set(missing(decoded, vector["object"])) <= {".status.allowed"}


def test_a_deployment_decodes_whole() -> None:
    """Zero values vanish, empty messages stay, kind and apiVersion come from the envelope."""
    assert {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "pv", "labels": {"app": "web"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [
                        {"name": "nginx", "image": "nginx:1.27", "ports": [{"containerPort": 80}], "resources": {}}
                    ]
                },
            },
            "strategy": {},
        },
        "status": {},
    } == protobuf.decode(BODIES[0])


def test_delete_options_belong_to_every_group() -> None:
    """Kinds that all groups share are read as those of meta/v1; a zero behind a pointer is kept."""
    raw = chunk(1, 0) + chunk(2, chunk(1, "some-uid")) + chunk(4, "Background") + chunk(5, "All")

    assert {
        "apiVersion": "apps/v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "some-uid"},
        "propagationPolicy": "Background",
        "dryRun": ["All"],
    } == protobuf.decode(body("apps/v1", "DeleteOptions", raw))


def test_binary_data_and_bytes_are_base64() -> None:
    """Secret data comes as bytes and stands in JSON as base64."""
    raw = chunk(2, chunk(1, "key") + chunk(2, b"\x00\xff")) + chunk(2, chunk(1, "empty"))

    assert {"key": "AP8=", "empty": ""} == protobuf.decode(body("v1", "Secret", raw))["data"]


def test_special_types_are_written_as_json_writes_them() -> None:
    """Times, quantities, numbers-or-text and embedded JSON are no objects in JSON."""
    time = chunk(1, 1767323045) + chunk(2, 678901000)
    owner_fields = chunk(1, b'{"f:data":{}}')
    metadata = chunk(8, time) + chunk(17, chunk(1, "kubectl") + chunk(7, owner_fields))
    port = chunk(4, chunk(1, 1) + chunk(3, "http"))
    service = protobuf.decode(body("v1", "Service", chunk(1, metadata) + chunk(2, chunk(1, port))))
    quota = chunk(2, chunk(1, chunk(1, "cpu") + chunk(2, chunk(1, "500m"))))

    assert "2026-01-02T03:04:05Z" == service["metadata"]["creationTimestamp"]
    assert {"f:data": {}} == service["metadata"]["managedFields"][0]["fieldsV1"]
    assert [{"targetPort": "http"}] == service["spec"]["ports"]
    assert {"cpu": "500m"} == protobuf.decode(body("v1", "ResourceQuota", quota))["spec"]["hard"]


def test_negative_numbers() -> None:
    """Negative integers are two's complement of 64 bits on the wire, whatever their size."""
    raw = chunk(2, chunk(1, -1))

    assert {"replicas": -1} == protobuf.decode(body("apps/v1", "ReplicaSet", raw))["spec"]


def test_the_request_can_name_what_the_body_leaves_out() -> None:
    """Without a kind in the envelope the one given counts."""
    bare = protobuf.MAGIC + chunk(2, chunk(1, chunk(1, "a")))

    assert {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}} == protobuf.decode(
        bare, "v1", "ConfigMap"
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "empty data"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (protobuf.MAGIC, "empty body"),
        (BODIES[0][:-7], "unexpected EOF"),
        (protobuf.MAGIC + b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "proto: integer overflow"),
        (body("v1", "Nothing", b""), 'no kind "Nothing" is registered for version "v1"'),
        (body("", "Pod", b""), "Object 'apiVersion' is missing"),
        (body("v1", "ConfigMap", b"\x0b"), "proto: illegal wireType 3"),
        (body("v1", "ConfigMap", b"\x08\x01"), "proto: wrong wireType for a message"),
    ],
)
def test_bad_bodies_are_refused(data: bytes, expected: str) -> None:
    """Each fault has its message, and all are ValueErrors."""
    with pytest.raises(ProtobufError) as refused:
        protobuf.decode(data)

    assert expected == str(refused.value)


def test_schemas_of_custom_resources() -> None:
    """Where JSON takes a schema or something else, either form is read."""
    text = chunk(5, "string")
    schema = (
        chunk(5, "object")
        + chunk(38, 1)
        + chunk(8, chunk(1, b'{"a":[1]}'))
        + chunk(24, chunk(1, text))
        + chunk(30, chunk(1, 1))
        + chunk(33, chunk(1, 0) + chunk(2, text))
        + chunk(32, chunk(1, "a") + chunk(2, chunk(2, "b")))
    )
    version = chunk(7, chunk(1, "v1") + chunk(4, chunk(1, schema)))

    decoded = protobuf.decode(body("apiextensions.k8s.io/v1", "CustomResourceDefinition", chunk(2, version)))

    assert {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "default": {"a": [1]},
        "items": {"type": "string"},
        "additionalProperties": True,
        "additionalItems": {"type": "string"},
        "dependencies": {"a": ["b"]},
    } == decoded["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def test_endless_nesting_is_refused() -> None:
    """A message nested in itself a thousand times is an error, not an exhausted stack."""
    schema = b""
    for _ in range(1000):
        schema = chunk(28, schema)  # not
    version = chunk(7, chunk(1, "v1") + chunk(4, chunk(1, schema)))

    with pytest.raises(ProtobufError, match="exceeded max depth"):
        protobuf.decode(body("apiextensions.k8s.io/v1", "CustomResourceDefinition", chunk(2, version)))


@given(
    st.sampled_from(BODIES), st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), max_size=4), st.integers(0)
)
@example(BODIES[0], [], 0)
def test_damaged_bodies_are_read_or_refused(data: bytes, changes: list[tuple[int, int]], cut: int) -> None:
    """Whatever happens to the bytes, decoding ends with an object or a ValueError."""
    damaged = bytearray(data)
    for position, byte in changes:
        damaged[position % len(damaged)] = byte
    damaged = damaged[: len(damaged) - cut % len(damaged)]

    try:
        decoded = protobuf.decode(bytes(damaged))
    except ValueError:
        return

    assert decoded["kind"]


@given(st.binary(max_size=60))
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    """Random bytes in an envelope never do more than raise a ValueError."""
    try:
        decoded = protobuf.decode(body("v1", "Pod", data))
    except ValueError:
        return

    assert "Pod" == decoded["kind"]
