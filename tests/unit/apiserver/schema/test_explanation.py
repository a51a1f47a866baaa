"""Errors: the real server's words for values of a wrong type."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver.schema.codec import DecodeError
from apiserver.schema.definitions import Schema

SCHEMA = Schema.load()
GVK = {
    "Pod": ("", "v1", "Pod"),
    "Deployment": ("apps", "v1", "Deployment"),
    "ConfigMap": ("", "v1", "ConfigMap"),
    "Secret": ("", "v1", "Secret"),
    "Service": ("", "v1", "Service"),
    "Lease": ("coordination.k8s.io", "v1", "Lease"),
}
QUANTITY_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
RFC3339 = "2006-01-02T15:04:05Z07:00"


def complaint_about(kind: str, text: str) -> str:
    raw = text.encode()
    with pytest.raises(DecodeError) as caught:
        SCHEMA.codec(*GVK[kind]).decode(orjson.loads(raw), raw=raw)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            "Deployment",
            '{"spec":{"replicas":"2"}}',
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "Deployment",
            '{"spec":{"replicas":1.0}}',
            "number 1.0 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "Deployment",
            '{"spec":{"replicas":1E2}}',
            "number 1E2 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "Deployment",
            '{"spec":{"replicas":2147483648}}',
            "number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        ("Deployment", '{"spec":[]}', "array into Go struct field Deployment.spec of type v1.DeploymentSpec"),
        ("ConfigMap", '{"data":{"n":1}}', "number into Go struct field ConfigMap.data of type string"),
        ("ConfigMap", '{"data":["x"]}', "array into Go struct field ConfigMap.data of type map[string]string"),
        (
            "ConfigMap",
            '{"metadata":{"labels":{"l":true}}}',
            "bool into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        ("Secret", '{"data":[]}', "array into Go struct field Secret.data of type map[string][]uint8"),
        (
            "Service",
            '{"spec":{"ports":[{"port":"80"}]}}',
            "string into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        ("Service", '{"spec":{"type":5}}', "number into Go struct field ServiceSpec.spec.type of type v1.ServiceType"),
        (
            "Pod",
            '{"spec":{"containers":{"name":"c"}}}',
            "object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            "Pod",
            '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}',
            "bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port"
            " of type int32",
        ),
        (
            "Pod",
            '{"spec":{"containers":[{"resources":{"limits":"x"}}]}}',
            "string into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
        ),
        ("Pod", "[]", "array into Go value of type v1.Pod"),
    ],
)
def test_a_wrong_type_is_told_with_its_go_field(kind: str, text: str, expected: str) -> None:
    """The message names the JSON type, the Go struct, the path without map keys and indices, and the Go type."""
    assert f"json: cannot unmarshal {expected}" == complaint_about(kind, text)


def test_the_first_wrong_type_is_the_one_reported() -> None:
    """Go remembers the first mismatch of the text and reads on."""
    complaint = complaint_about("Pod", '{"spec":{"hostNetwork":"x","nodeName":1}}')

    assert "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool" == complaint


def test_an_unreadable_quantity_outdoes_earlier_wrong_types() -> None:
    """Quantities and times read themselves, and their errors end the reading at once."""
    text = '{"spec":{"hostNetwork":"x","containers":[{"resources":{"limits":{"cpu":"1gi"}}}]}}'

    assert complaint_about("Pod", text) == QUANTITY_FORM


@pytest.mark.parametrize("value", ["true", "[]", "{}", '""'])
def test_what_is_no_quantity_is_told_so(value: str) -> None:
    """Booleans, lists and objects fail as text would."""
    assert complaint_about("Pod", f'{{"spec":{{"overhead":{{"cpu":{value}}}}}}}') == QUANTITY_FORM


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yesterday", f'parsing time "yesterday" as "{RFC3339}": cannot parse "yesterday" as "2006"'),
        ("", f'parsing time "" as "{RFC3339}": cannot parse "" as "2006"'),
        ("é\n", rf'parsing time "\xc3\xa9\x0a" as "{RFC3339}": cannot parse "\xc3\xa9\x0a" as "2006"'),
        ("2026-01-02", f'parsing time "2026-01-02" as "{RFC3339}": cannot parse "" as "T"'),
        (
            "2026-01-02 03:04:05",
            f'parsing time "2026-01-02 03:04:05" as "{RFC3339}": cannot parse " 03:04:05" as "T"',
        ),
        ("2026-01-02T03:04:05", f'parsing time "2026-01-02T03:04:05" as "{RFC3339}": cannot parse "" as "Z07:00"'),
        ("2026-13-02T03:04:05Z", 'parsing time "2026-13-02T03:04:05Z": month out of range'),
        ("2026-02-30T03:04:05Z", 'parsing time "2026-02-30T03:04:05Z": day out of range'),
        ("2026-01-02T03:04:05Zx", 'parsing time "2026-01-02T03:04:05Zx": extra text: "x"'),
    ],
)
def test_an_unreadable_time_is_told_where_it_fails(text: str, expected: str) -> None:
    """Times fail in the words of Go's time.Parse."""
    body: Any = orjson.dumps({"metadata": {"creationTimestamp": text}}).decode()

    assert expected == complaint_about("Pod", body)


def test_micro_times_need_six_digits() -> None:
    """A MicroTime without its fraction is refused at the place where the fraction is missing."""
    complaint = complaint_about("Lease", '{"spec":{"renewTime":"2026-01-02T03:04:05Z"}}')

    expected = (
        'parsing time "2026-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'
    )
    assert expected == complaint


@pytest.mark.parametrize(
    ("text", "position"),
    [("*", 0), ("YQ", 0), ("YQ=", 3), ("YQ==x", 4), ("YWJj!", 4), ("YQ=a", 2)],
)
def test_broken_base64_is_told_with_its_position(text: str, position: int) -> None:
    """The position is where Go's decoder gives up."""
    complaint = complaint_about("Secret", f'{{"data":{{"k":"{text}"}}}}')

    assert f"illegal base64 data at input byte {position}" == complaint


def test_line_breaks_in_base64_are_read_over() -> None:
    """What `base64` without -w0 prints is accepted and stored in one line."""
    decoded = SCHEMA.codec("", "v1", "Secret").decode({"data": {"k": "YW\nJj\n"}})

    assert {"k": "YWJj"} == decoded.object["data"]


def test_bytes_may_be_sent_as_a_list_of_numbers() -> None:
    """To Go bytes are a list of small numbers, and JSON lists of them are read as such."""
    decoded = SCHEMA.codec("", "v1", "Secret").decode({"data": {"k": [97, 98, None], "none": []}})

    assert {"k": "YWIA", "none": ""} == decoded.object["data"]
