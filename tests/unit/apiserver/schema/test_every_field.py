"""Every field of every built-in kind: what a value of a wrong type is told, and what null means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

import apiserver.schema
from apiserver.handlers.bodies import Body, Decoder
from apiserver.registry.catalog import Kind
from apiserver.registry.options import Warnings
from apiserver.resources.catalog import KINDS
from apiserver.schema.codec import DecodeError
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.errors import BadRequest
from tests.testkit.wrong_values import Model, Place, wrong_values

SCHEMA = Schema.load()
DECODER = Decoder(SCHEMA)
_FACTS = orjson.loads((Path(apiserver.schema.__file__).parent / "data" / "go-fields.json").read_bytes())
MODEL = Model(SCHEMA.described(), _FACTS["fields"])
FIELDS_OF_A_POD = 1300  # and some more
# What is sent to subresources and with deletions, as kinds of no resource of their own.
OTHERS = (
    ("", "v1", "DeleteOptions"),
    ("authentication.k8s.io", "v1", "TokenRequest"),
    ("autoscaling", "v1", "Scale"),
    ("policy", "v1", "Eviction"),
)


def places_of(kind: Kind) -> Iterator[Place]:
    return places_in(kind.gvk)


def places_in(gvk: tuple[str, str, str]) -> Iterator[Place]:
    """All but kind and apiVersion, which are read before anything else."""
    definition = SCHEMA.definition_name(*gvk)
    return (place for place in MODEL.places(definition) if not place.path.startswith("TypeMeta."))


def answer_to(kind: Kind, document: str) -> str:
    try:
        DECODER.read(kind, Body(document.encode(), "application/json"), "Ignore", Warnings())
    except BadRequest as error:
        return str(error)
    return "accepted"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.resource))
def test_a_value_of_a_wrong_type_is_refused_in_gos_words_wherever_it_stands(kind: Kind) -> None:
    """Strings, numbers, booleans, objects, lists, fractions, integers out of range, broken times, quantities and base64
    are each told with the Go struct, the path and the Go type of the field."""
    version, name = kind.resource.version, kind.resource.kind
    refused = f'{name} in version "{version}" cannot be handled as a {name}: '

    wrong = [wrong for place in places_of(kind) for wrong in wrong_values(place)]
    differing = {
        document: (answer, complaint)
        for document, complaint in wrong
        if (answer := answer_to(kind, document)) != refused + complaint
    }

    assert wrong
    assert not differing


@pytest.mark.parametrize("gvk", OTHERS, ids=lambda gvk: gvk[2])
def test_what_subresources_are_sent_is_refused_in_the_same_words(gvk: tuple[str, str, str]) -> None:
    """Options, scales, evictions and token requests have a Go type too."""
    codec = SCHEMA.codec(*gvk)
    wrong = [wrong for place in places_in(gvk) for wrong in wrong_values(place)]

    complaints = {}
    for document, _ in wrong:
        with pytest.raises(DecodeError) as caught:
            codec.decode(orjson.loads(document), raw=document.encode())
        complaints[document] = str(caught.value)

    assert dict(wrong) == complaints


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.resource))
def test_null_is_as_good_as_nothing_in_every_field(kind: Kind) -> None:
    """A field that is null reads as one that was not sent."""
    codec = SCHEMA.codec(*kind.gvk)
    fields = [place for place in places_of(kind) if place.is_field]

    differing = [
        place.path
        for place in fields
        if codec.decode(orjson.loads(place.holding("null"))) != codec.decode(orjson.loads(place.without()))
    ]

    assert fields
    assert not differing


def test_the_model_knows_all_fields() -> None:
    """The walk reaches the depths of a pod's containers and volumes."""
    paths = {place.path for kind in KINDS if kind.resource.kind == "Pod" for place in places_of(kind)}

    assert {"spec.ephemeralContainers.EphemeralContainerCommon.env.valueFrom.secretKeyRef.optional"} <= paths
    assert len(paths) > FIELDS_OF_A_POD
