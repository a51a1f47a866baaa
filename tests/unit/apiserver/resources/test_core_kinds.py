"""ConfigMaps, Secrets, Namespaces, Nodes and Events: what is particular to each."""

from __future__ import annotations

from base64 import b64encode

import pytest

from apiserver.resources.comparison import same
from apiserver.resources.conversions import CONVERSIONS
from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

CONFIG_MAPS = KindOnTrial("v1", "ConfigMap")
SECRETS = KindOnTrial("v1", "Secret")
NAMESPACES = KindOnTrial("v1", "Namespace")
EVENTS = KindOnTrial("events.k8s.io/v1", "Event")
EVENT_FROM_STORED = CONVERSIONS["events.k8s.io", "v1", "Event"].from_stored


def test_an_immutable_config_map_stays() -> None:
    """Once immutable, neither the data nor the mark itself changes."""
    old = CONFIG_MAPS.created({"data": {"a": "b"}, "immutable": True})

    data = CONFIG_MAPS.change_errors(old, {"data": {"a": "c"}})
    mark = CONFIG_MAPS.change_errors(old, {"immutable": False})

    assert ["data: Forbidden: field is immutable when `immutable` is set"] == data
    assert ["immutable: Forbidden: field is immutable when `immutable` is set"] == mark


def test_a_key_is_in_one_place() -> None:
    """The same key among texts and bytes is refused."""
    actual = CONFIG_MAPS.create_errors({"data": {"a": "b"}, "binaryData": {"a": "Yg=="}})

    assert ['data[a]: Invalid value: "a": duplicate of key present in binaryData'] == actual


def test_text_of_a_secret_is_stored_as_bytes() -> None:
    """`stringData` is moved into `data`, over what is there."""
    actual = SECRETS.created({"data": {"a": "YQ==", "b": "Yg=="}, "stringData": {"a": "x"}})

    assert {"a": "eA==", "b": "Yg=="} == actual["data"]
    assert "stringData" not in actual


@pytest.mark.parametrize(
    ("kind", "refusals"),
    [
        ("kubernetes.io/dockerconfigjson", ["data[.dockerconfigjson]: Required value"]),
        ("kubernetes.io/tls", ["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        ("kubernetes.io/ssh-auth", ["data[ssh-privatekey]: Required value"]),
        ("example.com/own", []),
    ],
)
def test_secrets_of_a_known_type_hold_its_keys(kind: str, refusals: list[str]) -> None:
    """Each of Kubernetes' own types of Secret has keys it cannot be without; other types are free."""
    actual = SECRETS.create_errors({"type": kind})

    assert refusals == actual


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", ""),
        (" null", ""),
        ("", "unexpected end of JSON input"),
        ('{"a":', "unexpected end of JSON input"),
        ("not json", "invalid character 'o' in literal null (expecting 'u')"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ('{"a":1.}', "invalid character '}' after decimal point in numeric literal"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("[1]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("12", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        ("true", "json: cannot unmarshal bool into Go value of type map[string]interface {}"),
    ],
)
def test_credentials_of_a_registry_are_json(text: str, reason: str) -> None:
    """What is wrong with the JSON of a dockerconfigjson Secret is said as encoding/json says it, never the text."""
    data = {".dockerconfigjson": b64encode(text.encode()).decode()}

    actual = SECRETS.create_errors({"type": "kubernetes.io/dockerconfigjson", "data": data})

    refusal = f'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": {reason}'
    assert ([refusal] if reason else []) == actual


def test_the_type_of_a_secret_stays() -> None:
    """A Secret cannot become one of another type."""
    old = SECRETS.created({})

    actual = SECRETS.change_errors(old, {"type": "example.com/own"})

    assert ['type: Invalid value: "example.com/own": field is immutable'] == actual


def test_a_namespace_starts_active_and_held() -> None:
    """A new namespace carries its own name as a label, and the finalizer that empties it before it goes."""
    created = NAMESPACES.created({"metadata": {"name": "n"}})

    actual = created["metadata"]["labels"], created["spec"], created["status"]

    assert ({"kubernetes.io/metadata.name": "n"}, {"finalizers": ["kubernetes"]}, {"phase": "Active"}) == actual


def test_events_read_the_same_in_both_groups() -> None:
    """An event sent to events.k8s.io is stored under core's names and comes back under its own."""
    body = {
        "eventTime": "2026-01-02T03:04:05.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
        "action": "Act",
        "reason": "Why",
        "regarding": {"kind": "Pod", "namespace": "ns", "name": "p"},
        "note": "text",
        "type": "Normal",
    }

    stored = EVENTS.created(body)

    actual = EVENT_FROM_STORED(stored)
    assert ("text", "p") == (stored["message"], stored["involvedObject"]["name"])
    assert ("text", "p", "example.com/c") == (
        actual["note"],
        actual["regarding"]["name"],
        actual["reportingController"],
    )


@pytest.mark.parametrize("name", ["involvedObject.name", "regarding.name"])
def test_events_are_found_under_the_names_of_both_groups(name: str) -> None:
    """Whichever version wrote an event, it can be selected by the field names of either."""
    stored = EVENTS.created({"regarding": {"kind": "Pod", "namespace": "ns", "name": "p"}})

    actual = EVENTS.strategy.selectable_fields(stored)[name]

    assert actual == "p"


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}, True),
        ({"args": []}, {}, True),
        ({"emptyDir": {}}, {}, False),
        ({"name": "1"}, {"name": "1000m"}, False),
        ([{"a": 1}], [{"a": 2}], False),
    ],
)
def test_objects_are_compared_by_their_meaning(left: Object, right: Object, equal: bool) -> None:
    """Amounts compare by size, absent and empty lists are the same, everything else by its value."""
    actual = same(left, right)

    assert equal == actual


def test_what_may_not_change_about_an_event_is_shown_as_kubernetes_does() -> None:
    """A refusal shows the object an event is about under Go's names, and a missing count as zero."""
    body = {
        "eventTime": "2026-01-02T03:04:05.000000Z",
        "regarding": {"kind": "Pod", "namespace": "ns", "name": "p"},
        "reportingController": "example.com/c",
        "reportingInstance": "i",
        "action": "a",
        "reason": "r",
        "type": "Normal",
    }
    old = EVENTS.created(body)
    change = {"involvedObject": {"name": "q"}, "count": 3, "action": "b"}

    actual = EVENTS.change_errors(old, change)

    involved = '{"Kind":"Pod","Namespace":"ns","Name":"q","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}'
    assert [
        f"involvedObject: Invalid value: {involved}: field is immutable",
        "count: Invalid value: 3: field is immutable",
        'action: Invalid value: "b": field is immutable',
    ] == actual
