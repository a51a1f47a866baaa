"""Requests for certificates, their approval, and API services."""

from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, Attributes
from apiserver.admission.plugins.certificate_subject_restriction import CertificateSubjectRestriction
from apiserver.auth.authentication import User
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource
from tests.testkit.certificate_requests import OF_A_MASTER, OF_ALICE
from tests.testkit.kinds import CREATED, KindOnTrial

REQUESTS = KindOnTrial("certificates.k8s.io/v1", "CertificateSigningRequest")
SERVICES = KindOnTrial("apiregistration.k8s.io/v1", "APIService")
RESOURCE = Resource("certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", False)
LATER = datetime(2026, 1, 2, 4, 0, 0, tzinfo=UTC)
APPROVED: Object = {"type": "Approved", "status": "True", "reason": "r"}
DENIED: Object = {"type": "Denied", "status": "True", "reason": "r"}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def request(text: str = OF_ALICE, **spec: Any) -> Object:
    return {"spec": {"request": encoded(text), "signerName": "example.com/s", "usages": ["any"], **spec}}


def approved() -> Object:
    obj = REQUESTS.created(request())
    return REQUESTS.changed(obj, {"status": {"conditions": [APPROVED]}}, "approval")


@pytest.mark.parametrize(
    ("spec", "refusals"),
    [
        ({}, []),
        ({"request": "aGVsbG8="}, ['request: Invalid value: "aGVsbG8=": PEM block type must be CERTIFICATE REQUEST']),
        ({"usages": ["any", "any"]}, ['usages[1]: Duplicate value: "any"']),
        ({"expirationSeconds": 600}, []),
        (
            {"expirationSeconds": 599},
            ["expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)"],
        ),
        ({"signerName": ""}, ["signerName: Required value"]),
        (
            {"signerName": "plain/s"},
            ['signerName: Invalid value: "plain": should be a domain with at least two segments separated by dots'],
        ),
        (
            {"signerName": "kubernetes.io/legacy-unknown"},
            [
                'signerName: Invalid value: "kubernetes.io/legacy-unknown": '
                "the legacy signerName is not allowed via this API version"
            ],
        ),
    ],
)
def test_what_is_asked_for(spec: Object, refusals: list[str]) -> None:
    """A request is one, names a signer, and says what for."""
    actual = [error.removeprefix("spec.") for error in REQUESTS.create_errors(request(**spec))]

    assert refusals == actual


def test_the_requester_is_noted() -> None:
    """Whoever the body claims to be from, it is from who sent it."""
    obj = REQUESTS.created(request(username="bob", groups=["x"]))

    REQUESTS.strategy.stamp_creator(obj, User("alice", "u", ("devs",), {"k": ["v"]}))

    said = {name: obj["spec"].get(name) for name in ("username", "uid", "groups", "extra")}
    assert {"username": "alice", "uid": "u", "groups": ["devs"], "extra": {"k": ["v"]}} == said


def test_only_approval_approves() -> None:
    """The main endpoint ignores conditions, the status endpoint refuses approval, approval takes nothing else."""
    old = REQUESTS.created(request())
    change = {"status": {"conditions": [APPROVED], "certificate": encoded("x")}, "spec": {"signerName": "a.b/c"}}

    main = REQUESTS.changed(old, change)
    refusals = REQUESTS.change_errors(old, {"status": {"conditions": [APPROVED]}}, "status")
    approval = REQUESTS.changed(old, change, "approval")

    assert old == main
    assert ['status.conditions: Forbidden: updates may not add a condition of type "Approved"'] == refusals
    assert (old["spec"], {"conditions": [APPROVED]}) == (approval["spec"], approval["status"])


@pytest.mark.parametrize(
    ("conditions", "refusals"),
    [
        ([APPROVED], []),
        (
            [APPROVED, DENIED],
            ['status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'],
        ),
        ([], ['status.conditions: Forbidden: updates may not remove a condition of type "Approved"']),
        (
            [{**APPROVED, "status": "False"}],
            ['status.conditions[0].status: Unsupported value: "False": supported values: "True"'],
        ),
    ],
)
def test_an_approval_stands(conditions: list[Object], refusals: list[str]) -> None:
    """What was approved stays approved, and cannot be denied as well."""
    actual = REQUESTS.change_errors(approved(), {"status": {"conditions": conditions}}, "approval")

    assert refusals == actual


def test_certificates() -> None:
    """The status endpoint takes a certificate once, if it is one."""
    old = approved()

    none = REQUESTS.change_errors(old, {"status": {"certificate": encoded("hello")}}, "status")
    other = REQUESTS.change_errors(old, {"status": {"certificate": encoded(OF_ALICE)}}, "status")

    intro = 'status.certificate: Invalid value: "<certificate data>"'
    assert [f"{intro}: must contain at least one CERTIFICATE PEM block"] == none
    assert [f'{intro}: only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"'] == other


def test_times_of_conditions() -> None:
    """A condition without times gets them; one that only says the same again keeps its transition."""
    old = approved()
    REQUESTS.strategy.stamp_update(old, REQUESTS.created(request()), datetime.fromisoformat(CREATED))
    new = REQUESTS.changed(old, {"status": {"conditions": [APPROVED]}}, "approval")

    REQUESTS.strategy.stamp_update(new, old, LATER)

    condition = new["status"]["conditions"][0]
    assert (CREATED, "2026-01-02T04:00:00Z") == (condition["lastTransitionTime"], condition["lastUpdateTime"])


def test_nobody_becomes_a_master_by_certificate() -> None:
    """For the signer of client certificates, the masters' group is refused."""
    plugin = CertificateSubjectRestriction()

    def attributes(text: str) -> Attributes:
        obj = REQUESTS.created({**request(text, signerName="kubernetes.io/kube-apiserver-client")})
        return Attributes(CREATE, RESOURCE, "", name="a", object=obj, old_object=None, user=User("alice"))

    asyncio.run(plugin.validate(attributes(OF_ALICE)))
    with pytest.raises(Forbidden) as refusal:
        asyncio.run(plugin.validate(attributes(OF_A_MASTER)))

    text = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
    assert f'certificatesigningrequests.certificates.k8s.io "a" is forbidden: {text}' == refusal.value.message


def service(**spec: Any) -> Object:
    said = {"group": "x.example.com", "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 5, **spec}
    return {"metadata": {"name": "v1.x.example.com"}, "spec": said}


@pytest.mark.parametrize(
    ("body", "refusals"),
    [
        (service(), []),
        (service() | {"metadata": {"name": ""}}, []),
        (service(service={"name": "s", "namespace": "n"}), []),
        (
            service(version="v2"),
            [
                'metadata.name: Invalid value: "v1.x.example.com": '
                'must be `spec.version+"."+spec.group`: "v2.x.example.com"'
            ],
        ),
        (
            service(groupPriorityMinimum=0, versionPriority=1001),
            [
                "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
                "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
            ],
        ),
        (
            service(insecureSkipTLSVerify=True),
            ["spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify"],
        ),
    ],
)
def test_api_services(body: Object, refusals: list[str]) -> None:
    """An API service is named after its version and group, which have priorities."""
    actual = SERVICES.create_errors(body)

    assert refusals == actual


def test_local_api_services_are_available() -> None:
    """What this server answers itself is available at once."""
    local = SERVICES.created(service())["status"]
    remote = SERVICES.created(service(service={"name": "s", "namespace": "n"}))["status"]

    conditions = [(c["type"], c["status"], c["lastTransitionTime"]) for c in local["conditions"]]
    assert ([("Available", "True", CREATED)], {}) == (conditions, remote)
