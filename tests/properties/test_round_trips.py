"""What is sent in one form is what would have been sent in another, and what is decoded can be decoded again."""

from __future__ import annotations

import base64
import json
import random
import re
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apiserver.handlers.bodies import Body, Decoder
from apiserver.registry.catalog import Kind
from apiserver.registry.options import IGNORE, Warnings
from apiserver.resources.catalog import KINDS
from apiserver.schema import json_text
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery import yaml_text
from kubeloop.apimachinery.errors import ApiError
from tests.fuzz.instances import Instances

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "unit/apimachinery/data/protobuf-vectors.json").read_text()
)
JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
SCHEMA, INSTANCES = Schema.load("1.36"), Instances()
DECODER = Decoder(SCHEMA)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False, width=32)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\x85\u2028\u2029\ufeff\ufffe\uffff"))
VALUES: Any = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)


class Writer(yaml.SafeDumper):
    """Quotes texts that a reader of Go takes for numbers or booleans and PyYAML does not: `0E0`, `0o7`, `y`."""


Writer.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+.0-9].*|[yYnN]", re.DOTALL), [*"-+.0123456789yYnN"]
)


def read(kind: Kind, media_type: str, raw: bytes) -> Any:
    return DECODER.read(kind, Body(raw, media_type), IGNORE, Warnings())


@given(VALUES)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    """Both JSON writers' texts are read back as the value, and JSON is YAML."""
    assert value == json_text.parse(orjson.dumps(value))
    assert value == json_text.parse(json.dumps(value).encode())


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_yaml_is_read_as_it_was_written(value: Any) -> None:
    """What is written as YAML is read as what it was, whichever style the writer chose."""
    text = yaml.dump(value, Dumper=Writer, allow_unicode=True)

    assert value == yaml_text.parse_yaml(text.encode())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.resource.api_version}/{kind.resource.kind}")
def test_objects_of_every_kind(kind: Kind) -> None:
    """The same object comes of JSON and of YAML, and of what came of it."""
    for seed in range(5):
        sent = INSTANCES.of(random.Random(seed), kind, "")
        sent.pop("status", None)
        try:
            decoded = read(kind, JSON, orjson.dumps(sent))
        except ApiError as refused:
            with pytest.raises(type(refused)):
                read(kind, YAML, yaml.safe_dump(sent).encode())
            continue
        assert decoded == read(kind, YAML, yaml.safe_dump(sent).encode())
        if kind.conversion is None:
            assert decoded == read(
                kind, JSON, orjson.dumps({**decoded, "kind": sent["kind"], "apiVersion": sent["apiVersion"]})
            )


def kind_of(request: str) -> Kind | None:
    """The kind of a collection's path; None for a subresource's, which has no kind of its own in the catalog."""
    segments = request.partition(" ")[2].partition("?")[0].strip("/").split("/")
    group, version = ("", segments[1]) if segments[0] == "api" else (segments[1], segments[2])
    return next((k for k in KINDS if (k.group, k.resource.version, k.plural) == (group, version, segments[-1])), None)


KINDS_OF_VECTORS = [(kind, vector) for vector in VECTORS if (kind := kind_of(vector["request"])) is not None]


@pytest.mark.parametrize(("kind", "vector"), KINDS_OF_VECTORS, ids=lambda value: getattr(value, "plural", ""))
def test_protobuf_says_what_json_says(kind: Kind, vector: dict[str, Any]) -> None:
    """What kubectl sent as protobuf is, decoded and sent as JSON, the same object."""
    decoded = read(kind, PROTOBUF, base64.b64decode(vector["body_base64"]))
    resource = kind.resource
    as_json = {"kind": resource.kind, "apiVersion": resource.api_version, **decoded}

    if kind.conversion is None:
        assert decoded == read(kind, JSON, orjson.dumps(as_json))
