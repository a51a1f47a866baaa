"""Claims, classes and slices of devices."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.resources.dynamic_resources.claim_status import NOT_NORMAL
from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import CREATED, KindOnTrial

GROUP = "resource.k8s.io/v1"
CLAIMS = KindOnTrial(GROUP, "ResourceClaim")
TEMPLATES = KindOnTrial(GROUP, "ResourceClaimTemplate")
CLASSES = KindOnTrial(GROUP, "DeviceClass")
SLICES = KindOnTrial(GROUP, "ResourceSlice")
LATER = datetime(2026, 1, 2, 4, 0, 0, tzinfo=UTC)

REQUEST: Object = {"name": "r", "exactly": {"deviceClassName": "c"}}
RESULT: Object = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "gpu-0"}


def claim(*requests: Object, **devices: Any) -> Object:
    return {"spec": {"devices": {"requests": list(requests) or [REQUEST], **devices}}}


def slice_of(*devices: Object, **spec: Any) -> Object:
    pool = {"name": "p", "resourceSliceCount": 1}
    return {"spec": {"driver": "d.example.com", "pool": pool, "nodeName": "n", "devices": list(devices), **spec}}


def test_defaults_of_claims() -> None:
    """A request is for one device unless it says for how many, or all."""
    every = {"name": "e", "exactly": {"deviceClassName": "c", "allocationMode": "All"}}
    either = {"name": "f", "firstAvailable": [{"name": "s", "deviceClassName": "c", "tolerations": [{"key": "k"}]}]}

    requests = CLAIMS.created(claim(REQUEST, every, either))["spec"]["devices"]["requests"]

    one = {"allocationMode": "ExactCount", "count": 1}
    assert {"deviceClassName": "c", **one} == requests[0]["exactly"]
    assert every == requests[1]
    tolerations = [{"key": "k", "operator": "Equal"}]
    assert {"name": "s", "deviceClassName": "c", "tolerations": tolerations, **one} == requests[2]["firstAvailable"][0]


@pytest.mark.parametrize(
    ("body", "refusals"),
    [
        (claim(), []),
        (claim(REQUEST, REQUEST), ['requests[1]: Duplicate value: "r"']),
        (
            claim({"name": "r"}),
            ["requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"],
        ),
        (
            claim({"name": "r", "exactly": {"allocationMode": "All", "count": 2}}),
            [
                "requests[0].exactly.deviceClassName: Required value",
                "requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
            ],
        ),
        (
            claim(constraints=[{"requests": ["x"], "matchAttribute": "plain"}]),
            [
                'constraints[0].requests[0]: Invalid value: "x": must be the name of a request in the claim or the '
                "name of a request and a subrequest separated by '/'",
                'constraints[0].matchAttribute: Invalid value: "plain": '
                "a fully qualified name must be a domain and a name separated by a slash",
            ],
        ),
        (
            claim(config=[{"opaque": {"driver": "d.example.com", "parameters": [1]}}]),
            ['config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object'],
        ),
        (
            claim(*({"name": f"r{i}", "exactly": {"deviceClassName": "c"}} for i in range(33))),
            ["requests: Too many: 33: must have at most 32 items"],
        ),
    ],
)
def test_what_a_claim_asks_for(body: Object, refusals: list[str]) -> None:
    """Requests differ and say what they are for; all else refers to them."""
    actual = [error.removeprefix("spec.devices.") for error in CLAIMS.create_errors(body)]

    assert refusals == actual


def test_claims_never_change() -> None:
    """Neither what a claim asks for nor what claims of a template ask for."""
    change = {"devices": {"requests": []}}
    old, template = CLAIMS.created(claim()), TEMPLATES.created({"spec": claim()})

    errors = [
        *CLAIMS.change_errors(old, {"spec": change}),
        *TEMPLATES.change_errors(template, {"spec": {"spec": change}}),
    ]

    assert ["spec", "spec"] == [error.partition(":")[0] for error in errors]


def test_templates_carry_little_metadata() -> None:
    """Of the metadata of claims to come, only labels and annotations."""
    errors = TEMPLATES.create_errors({"spec": {**claim(), "metadata": {"name": "x", "labels": {"a": "b"}}}})

    assert ["spec.metadata.name: Forbidden: cannot be set"] == errors


def test_status_of_a_claim() -> None:
    """Devices are reserved once there is an allocation, which then stays as it is."""
    old = CLAIMS.created(claim())
    allocation = {"devices": {"results": [RESULT]}}
    reserved = [{"resource": "pods", "name": "p", "uid": "u"}]
    allocated = CLAIMS.changed(old, {"status": {"allocation": allocation, "reservedFor": reserved}}, "status")

    early = CLAIMS.change_errors(old, {"status": {"reservedFor": reserved}}, "status")
    fine = CLAIMS.change_errors(old, {"status": {"allocation": allocation, "reservedFor": reserved}}, "status")
    moved = CLAIMS.change_errors(allocated, {"status": {"allocation": {"devices": {"results": []}}}}, "status")

    assert ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"] == early
    assert [] == fine
    assert ["status.allocation"] == [error.partition(":")[0] for error in moved]


def test_deallocated_devices_have_no_status() -> None:
    """When an allocation goes, so does what was said about its devices."""
    device = {name: RESULT[name] for name in ("driver", "pool", "device")}
    old = CLAIMS.created(claim())
    old["status"] = {"allocation": {"devices": {"results": [RESULT]}}, "devices": [device]}

    new = CLAIMS.changed(old, {"status": {"allocation": None}}, "status")

    assert {} == new["status"]


def test_device_classes() -> None:
    """A class selects devices, and may stand for an extended resource."""
    errors = CLASSES.create_errors({"spec": {"selectors": [{}], "extendedResourceName": "cpu"}})

    expected = [
        "spec.selectors[0].cel: Required value",
        'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
    ]
    assert expected == errors


def test_selectors_compile() -> None:
    """They are about devices, true or false, and cost no more than one may."""
    all_pairs = (
        "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, %s))))"
    )
    expressions = ("device.driver == 'd'", "device.name", "1", all_pairs % "a == b && c == d")
    selectors = [{"cel": {"expression": expression}} for expression in expressions]

    fine, compiles, is_bool, costs = (CLASSES.create_errors({"spec": {"selectors": [one]}}) for one in selectors)

    at = "spec.selectors[0].cel.expression"
    start = f"{at}: Invalid value: \"device.name\": compilation failed: ERROR: <input>:1:7: undefined field 'name'"
    assert compiles[0].startswith(start)
    assert [f'{at}: Invalid value: "1": must evaluate to bool or the unknown type, not int'] == is_bool
    assert [f"{at}: Forbidden: too complex, exceeds cost limit"] == costs
    assert [] == fine


@pytest.mark.parametrize(
    ("body", "refusals"),
    [
        (slice_of({"name": "gpu-0"}), []),
        (slice_of({"name": "a"}, {"name": "a"}), ['devices[1]: Duplicate value: "a"']),
        (
            slice_of(nodeName=None, allNodes=True, perDeviceNodeSelection=True),
            [
                ': Invalid value: "{`allNodes`, `perDeviceNodeSelection`}": exactly one of `nodeName`, '
                "`nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set"
            ],
        ),
        (
            slice_of({"name": "a", "attributes": {"x": {"bool": True, "int": 1}, "v": {"version": "1"}}}),
            [
                'devices[0].attributes[x]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,'
                '"VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: '
                "exactly one value must be specified",
                'devices[0].attributes[v].version: Invalid value: "1": '
                "must be a string compatible with semver.org spec 2.0.0",
            ],
        ),
        (
            slice_of({"name": "a", "allNodes": True}),
            [
                "devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if "
                "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
            ],
        ),
        (
            slice_of({"name": "a", "capacity": {"m": {"value": "1", "requestPolicy": {}}}}),
            ["devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true"],
        ),
        (
            slice_of({"name": "a", "bindingConditions": ["c"]}),
            [
                "devices[0].bindingFailureConditions: Invalid value: null: "
                "bindingFailureConditions are required to use bindingConditions"
            ],
        ),
    ],
)
def test_slices(body: Object, refusals: list[str]) -> None:
    """A slice says in one way which nodes reach its devices, and each device is described well."""
    actual = [error.removeprefix("spec").removeprefix(".") for error in SLICES.create_errors(body)]

    assert refusals == actual


@pytest.mark.parametrize(
    ("policy", "refusals"),
    [
        ({"default": "1Gi", "validValues": ["1Gi", "2Gi"]}, []),
        ({"default": "3Gi", "validValues": ["1Gi"]}, ["default value is not valid according to the requestPolicy"]),
        ({"validValues": ["1Gi"]}, ["required when validValues is defined"]),
        ({"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi"}}, ["max is larger than capacity value: 4Gi"]),
        (
            {"default": "2Gi", "validRange": {"min": "1Gi", "step": "3Gi"}},
            ["value is not a multiple of a given step (3Gi) from (1Gi)"],
        ),
    ],
)
def test_shared_capacity(policy: Object, refusals: list[str]) -> None:
    """What a request may take of a shared device fits what there is."""
    capacity = {"memory": {"value": "4Gi", "requestPolicy": policy}}

    errors = SLICES.create_errors(slice_of({"name": "a", "allowMultipleAllocations": True, "capacity": capacity}))

    assert refusals == [
        error.split(": ", 3)[-1] if "Invalid" in error else error.split(": ", 2)[-1] for error in errors
    ]


def test_taints_know_since_when() -> None:
    """A taint that comes with the device is as old as the slice, a later one as the change."""
    taint = {"key": "k", "effect": "NoSchedule"}
    old = SLICES.created(slice_of({"name": "a", "taints": [taint]}))
    new = SLICES.changed(old, slice_of({"name": "a", "taints": [taint]}))

    SLICES.strategy.stamp_update(new, old, LATER)

    times = [obj["spec"]["devices"][0]["taints"][0]["timeAdded"] for obj in (old, new)]
    assert [CREATED, "2026-01-02T04:00:00Z"] == times


def test_fields_of_slices() -> None:
    """Slices can be found by node and driver."""
    actual = SLICES.strategy.selectable_fields(SLICES.created(slice_of()))

    assert {"spec.nodeName": "n", "spec.driver": "d.example.com"} == actual


def test_a_claim_keeps_its_spec() -> None:
    """The refusal prints the spec as Go's internal struct."""
    asked = {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}}]}}
    old = CLAIMS.created({"spec": asked})

    actual = CLAIMS.change_errors(old, {"spec": {"devices": {"requests": []}}})

    printed = '{"Devices":{"Requests":[],"Constraints":null,"Config":null}}'
    assert [f"spec: Invalid value: {printed}: field is immutable"] == actual


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("11111111-2222-3333-4444-555555555555", ""),
        ("abc", "error validating uid: invalid UUID length: 3"),
        ("x1111111-2222-3333-4444-555555555555", "error validating uid: invalid UUID format"),
        ("[11111111-2222-3333-4444-555555555555]", "error validating uid: invalid bracketed UUID format"),
        ("urn:uuix:11111111-2222-3333-4444-555555555555", 'error validating uid: invalid urn prefix: "urn:uuix:"'),
        ("A1111111-2222-3333-4444-555555555555", NOT_NORMAL),
        ("{11111111-2222-3333-4444-555555555555}", NOT_NORMAL),
        ("11111111222233334444555555555555", NOT_NORMAL),
    ],
)
def test_a_share_is_named_by_a_uid(text: str, reason: str) -> None:
    """What is no UID is told from one that is written otherwise."""
    device = {"driver": "d", "pool": "p", "device": "x", "shareID": text}
    old = CLAIMS.created({"spec": {"devices": {}}})

    actual = CLAIMS.change_errors(old, {"status": {"devices": [device]}}, "status")

    at = f'status.devices[0].shareID: Invalid value: "{text}": '
    assert [at + reason] * bool(reason) == [line for line in actual if "shareID" in line]


def test_a_template_is_checked_as_a_whole_before_its_spec_is_said_to_stay() -> None:
    """Unlike a claim, whose new spec is not looked at."""
    request = {"name": "a", "exactly": {"deviceClassName": "c"}}
    old = TEMPLATES.created({"spec": {"spec": {"devices": {"requests": [request]}}}})

    actual = TEMPLATES.change_errors(old, {"spec": {"spec": {"devices": {"requests": [{"name": "a"}]}}}})

    assert [line.partition(": ")[0] for line in actual] == ["spec.spec.devices.requests[0]", "spec"]


def test_drivers_of_slices_are_lower_case() -> None:
    """Another spelling is warned of, whenever the slice is written."""
    slice_ = SLICES.created({"spec": {"driver": "GPU.example.com"}})

    actual = SLICES.strategy.warnings(slice_)

    text = 'spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters'
    assert (text,) == actual


def test_names_of_classes_are_counted_in_bytes_and_prefixes_not_at_all() -> None:
    """What is made from a prefix is looked at, the prefix is not."""
    strategy = CLASSES.strategy

    long, prefix = strategy.validate_name("a" * 254, is_prefix=False), strategy.validate_name("A-", is_prefix=True)

    assert ["must be no more than 253 bytes"] == list(long)
    assert not prefix
