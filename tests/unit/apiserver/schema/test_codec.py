"""Decoding: what Go's JSON would make of a value, without the Go."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from apiserver.schema.codec import Codec, Decoded, DecodeError
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.releases import RELEASES

SCHEMA = Schema.load()
PODS = SCHEMA.codec("", "v1", "Pod")
DEPLOYMENTS = SCHEMA.codec("apps", "v1", "Deployment")
CONFIG_MAPS = SCHEMA.codec("", "v1", "ConfigMap")


def decode_text(codec: Codec, text: str) -> Decoded:
    raw = text.encode()
    return codec.decode(orjson.loads(raw), raw=raw)


def the_container(container: dict[str, Any]) -> Any:
    return PODS.decode({"spec": {"containers": [container]}}).object["spec"]["containers"][0]


def test_values_go_holds_as_structs_are_always_written() -> None:
    """An empty Deployment answers with the structs and required lists Go never leaves out."""
    decoded = DEPLOYMENTS.decode({})

    expected = {
        "metadata": {},
        "spec": {"selector": None, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": None}}},
        "status": {},
    }
    assert expected == decoded.object


def test_empty_values_are_left_out() -> None:
    """null, "", 0, false, [] and {} of optional fields are not stored."""
    sent = {"name": "c", "image": "", "command": [], "stdin": False, "env": None, "livenessProbe": None}

    container = the_container(sent)

    assert {"name": "c", "resources": {}} == container


def test_zero_values_behind_pointers_are_kept() -> None:
    """`replicas: 0` and `runAsNonRoot: false` say something and stay; an empty struct that was sent stays too."""
    decoded = DEPLOYMENTS.decode({"spec": {"replicas": 0, "paused": False, "strategy": {"rollingUpdate": {}}}})

    spec = decoded.object["spec"]
    assert (0, {"rollingUpdate": {}}) == (spec["replicas"], spec["strategy"])
    assert "paused" not in spec


def test_null_elements_become_zero_values() -> None:
    """A null in a list or map is the zero value of its type, as in Go."""
    config = CONFIG_MAPS.decode({"data": {"k": None}}).object

    assert {"k": ""} == config["data"]
    assert {"name": "", "resources": {}} == the_container(None)  # type: ignore[arg-type]


def test_input_is_not_changed() -> None:
    """Decoding makes new lists and maps."""
    sent = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "args": ["x"]}], "odd": 1}}
    before = copy.deepcopy(sent)

    decoded = PODS.decode(sent).object
    decoded["metadata"]["labels"]["new"] = "x"
    decoded["spec"]["containers"][0]["args"].append("y")

    assert before == sent


def test_unknown_fields_are_dropped_and_named() -> None:
    """Unknown fields are reported with their path, in the order of the text; keys are told apart by case."""
    decoded = PODS.decode({"spec": {"containers": [{"name": "c", "Image": "i"}], "foo": {"bar": 1}}, "extra": 1})

    assert ["spec.containers[0].Image", "spec.foo", "extra"] == decoded.unknown
    assert {"containers": [{"name": "c", "resources": {}}]} == decoded.object["spec"]


def test_repeated_keys_are_named_among_the_unknown_ones() -> None:
    """Unknown and duplicate fields are listed together, as they come in the text; the last value counts."""
    decoded = decode_text(CONFIG_MAPS, '{"metadata":{"odd":1},"data":{"k":"v","k":"w"},"extra":{"a":1,"a":2}}')

    expected = ['unknown field "metadata.odd"', 'duplicate field "data.k"', 'unknown field "extra"']
    assert expected == decoded.problems
    assert {"k": "w"} == decoded.object["data"]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        (" 1 ", "1"),
        (2, "2"),
    ],
)
def test_quantities_come_back_in_canonical_form(sent: Any, stored: str) -> None:
    """Quantities may be text or numbers and are stored as the shortest text."""
    container = the_container({"name": "c", "resources": {"limits": {"cpu": sent}}})

    assert {"limits": {"cpu": stored}} == container["resources"]


def test_fractional_numbers_as_quantities_keep_their_spelling() -> None:
    """A number's digits decide, which only its text tells: 1.0 is `1`, 1e3 stays `1e3`."""
    text = '{"spec":{"containers":[{"name":"c","resources":{"limits":{"a":1e3,"b":1.5e3,"c":1.0}}}]}}'

    container = decode_text(PODS, text).object["spec"]["containers"][0]

    assert {"a": "1e3", "b": "1500", "c": "1"} == container["resources"]["limits"]


def test_fractional_quantities_without_a_text_are_taken_at_their_value() -> None:
    """After a patch there is no text any more: 0.5 is 500m."""
    container = the_container({"name": "c", "resources": {"limits": {"cpu": 0.5, "memory": 2.0}}})

    assert {"cpu": "500m", "memory": "2"} == container["resources"]["limits"]


def test_times_are_written_in_utc_and_whole_seconds() -> None:
    """metav1.Time drops fractions and offsets; MicroTime keeps six digits; Go's zero time is null."""
    event = {"eventTime": "2026-01-02T03:04:05.000001+01:00", "firstTimestamp": "2026-01-02T03:04:05.9Z"}
    event["lastTimestamp"] = "0001-01-01T00:00:00Z"

    decoded = SCHEMA.codec("", "v1", "Event").decode(event).object

    assert ("2026-01-02T02:04:05.000001Z", "2026-01-02T03:04:05Z", None) == (
        decoded["eventTime"],
        decoded["firstTimestamp"],
        decoded["lastTimestamp"],
    )


def test_schemas_within_schemas_are_decoded_too() -> None:
    """A CustomResourceDefinition's schema holds schemas, booleans and any JSON, at any depth."""
    schema = {
        "type": "object",
        "properties": {"a": {"additionalProperties": {"type": "string", "odd": 1}, "default": 0}},
    }
    crd = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}

    decoded = SCHEMA.codec("apiextensions.k8s.io", "v1", "CustomResourceDefinition").decode(crd)

    stored = decoded.object["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    expected = {"type": "object", "properties": {"a": {"additionalProperties": {"type": "string"}, "default": 0}}}
    assert (expected, []) == (stored, decoded.unknown)


@pytest.mark.parametrize("version", RELEASES)
def test_every_kind_of_every_version_can_be_decoded(version: str) -> None:
    """Decoders compile for all kinds, and an object decoded once is not changed by decoding it again."""
    schema = Schema.load(version)
    kinds = [
        (kind["group"], kind["version"], kind["kind"])
        for definition in schema.described().values()
        for kind in definition.get("x-kubernetes-group-version-kind", ())
    ]

    changed = [kind for kind in kinds if _is_changed_by_decoding_again(schema.codec(*kind))]

    assert [] == changed


def _is_changed_by_decoding_again(codec: Codec) -> bool:
    once = codec.decode({}).object
    return codec.decode(once).object != once


def test_nesting_deeper_than_the_stack_is_refused() -> None:
    """A schema of a thousand schemas is an error of the body, not of the server."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(1000):
        schema = {"type": "object", "properties": {"a": schema}}
    crd = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}

    with pytest.raises(DecodeError, match="exceeded max depth"):
        SCHEMA.codec("apiextensions.k8s.io", "v1", "CustomResourceDefinition").decode(crd)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"data":{"a":"1","b":"1"},"data":{"b":"2","c":"2"}}', {"a": "1", "b": "2", "c": "2"}),
        ('{"data":{"a":"1"},"data":null}', None),
        ('{"data":{"a":"1"},"data":{}}', {"a": "1"}),
    ],
)
def test_a_repeated_key_is_decoded_on_top_of_the_first(text: str, expected: Any) -> None:
    """Maps grow together and null empties them, as Go decodes into a value that is there already."""
    assert expected == decode_text(CONFIG_MAPS, text).object.get("data")


def test_a_repeated_struct_keeps_what_the_second_does_not_say() -> None:
    """Fields of the first struct stay, lists are overlaid element by element and cut to the second's length."""
    first = '{"nodeName":"n","hostname":"h","containers":[{"name":"a","image":"i"},{"name":"b"}]}'
    second = '{"hostname":"g","nodeName":null,"containers":[{"name":"c"}]}'

    spec = decode_text(PODS, f'{{"spec":{first},"spec":{second}}}').object["spec"]

    expected = {"nodeName": "n", "hostname": "g", "containers": [{"name": "c", "image": "i", "resources": {}}]}
    assert expected == spec
