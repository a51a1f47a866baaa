"""The loops around CertificateSigningRequests, on a living cluster."""

from __future__ import annotations

import base64
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from cryptography import x509

from controllers import certificates
from controllers.certificates.flags import Signing, SigningFiles
from controllers.certificates.signers import CLIENT, FAULTS, NODE_CLIENT
from kubeloop.apimachinery.certificate import end_of
from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.resource import CERTIFICATE_SIGNING_REQUESTS, CLUSTER_ROLES
from kubeloop.apimachinery.times import parse_time
from kubeloop.client.api import Api
from kubeloop.client.transport import Request, Response, Transport
from kubeloop.testing.cluster import BASE_URL, Cluster, a_loop, run_cluster
from tests.testkit.certificate_requests import NODE_USAGES, a_request, a_signing_request

HOUR, DAY = 3600, 24 * 3600


class As:
    """A transport that speaks for somebody else."""

    def __init__(self, transport: Transport, user: str, *groups: str) -> None:
        self._transport, self._headers = transport, {"Impersonate-User": user}
        if groups:
            self._headers["Impersonate-Group"] = ",".join(groups)

    async def send(self, request: Request) -> Response:
        headers = {**request.headers, **self._headers}
        return await self._transport.send(
            Request(request.method, request.target, headers, request.body, request.is_stream)
        )

    async def aclose(self) -> None:
        await self._transport.aclose()


async def decide(cluster: Cluster, request: ReadOnlyObject, kind: str) -> Object:
    """As `kubectl certificate` does."""
    condition = {"type": kind, "status": "True", "reason": "Test", "message": "so be it"}
    decided = {**request, "status": {"conditions": [condition]}}
    return await cluster.api.update(CERTIFICATE_SIGNING_REQUESTS, decided, subresource="approval")


def signing(folder: Path) -> Signing:
    return Signing(dict.fromkeys(FAULTS, SigningFiles(folder / "ca.crt", folder / "ca.key", made_when_missing=True)))


def test_what_is_approved_is_signed(tmp_path: Path) -> None:
    """By an authority that is made with the first certificate, for as long as was asked."""

    async def check(cluster: Cluster) -> tuple[Object, bool]:
        asked = a_signing_request(a_request("alice", "devs"), expirationSeconds=7200)
        made = await cluster.create(asked)
        await cluster.clock.sleep(10)
        was_made_early = (tmp_path / "ca.crt").exists()
        await decide(cluster, made, "Approved")
        await cluster.eventually(lambda: is_over(cluster, made))
        return await cluster.read(made), was_made_early

    signed, was_made_early = run_cluster(
        check, processes={"signer": a_loop(partial(certificates.add_signer, signing=signing(tmp_path)))}
    )

    text = base64.b64decode(signed["status"]["certificate"])
    authority = x509.load_pem_x509_certificate((tmp_path / "ca.crt").read_bytes())
    x509.load_pem_x509_certificate(text).verify_directly_issued_by(authority)
    end, approved = end_of(text), parse_time(conditions_of(signed)[0]["lastUpdateTime"])
    assert end is not None and timedelta(0) <= end - approved - timedelta(seconds=7200) < timedelta(seconds=5)
    assert not was_made_early


async def is_over(cluster: Cluster, request: ReadOnlyObject) -> bool:
    """It has a certificate, or has failed."""
    found = await cluster.read(request)
    failed = any(condition["type"] == "Failed" for condition in conditions_of(found))
    return failed or bool((found.get("status") or {}).get("certificate"))


@pytest.mark.parametrize("decision", ["Denied", "Approved"])
def test_what_is_denied_or_another_signers_is_left_alone(tmp_path: Path, decision: str) -> None:
    """Nothing is written about it."""

    async def check(cluster: Cluster) -> list[str]:
        signer = CLIENT if decision == "Denied" else "example.com/own"
        made = await cluster.create(a_signing_request(a_request("alice"), signer=signer))
        await decide(cluster, made, decision)
        await cluster.clock.sleep(60)
        return [write.target for write in cluster.writes if write.process == "signer"]

    writes = run_cluster(
        check, processes={"signer": a_loop(partial(certificates.add_signer, signing=signing(tmp_path)))}
    )

    assert [] == writes


def test_what_breaks_the_rules_of_its_signer_fails(tmp_path: Path) -> None:
    """For good, and the condition says why; approval stays."""

    async def check(cluster: Cluster) -> Object:
        made = await cluster.create(a_signing_request(a_request("alice"), signer=NODE_CLIENT))
        await decide(cluster, made, "Approved")
        await cluster.eventually(lambda: is_over(cluster, made))
        return await cluster.read(made)

    failed = run_cluster(
        check, processes={"signer": a_loop(partial(certificates.add_signer, signing=signing(tmp_path)))}
    )

    expected = [
        ("Approved", "Test", "so be it"),
        ("Failed", "SignerValidationFailure", "subject organization is not system:nodes"),
    ]
    assert expected == [(c["type"], c["reason"], c["message"]) for c in conditions_of(failed)]


def test_without_an_authority_nothing_is_watched() -> None:
    """The loop is there, and has nothing to do."""

    async def check(cluster: Cluster) -> int:
        await decide(cluster, await cluster.create(a_signing_request(a_request("alice"))), "Approved")
        await cluster.clock.sleep(60)
        return sum(write.process == "signer" for write in cluster.writes)

    assert 0 == run_cluster(check, processes={"signer": a_loop(partial(certificates.add_signer, signing=Signing()))})


def test_an_authority_that_cannot_be_used_is_tried_again(tmp_path: Path) -> None:
    """Once its files are put right, what waited is signed."""

    async def check(cluster: Cluster) -> bool:
        (tmp_path / "ca.crt").write_text("broken")
        made = await cluster.create(a_signing_request(a_request("alice")))
        await decide(cluster, made, "Approved")
        await cluster.clock.sleep(60)
        was_signed = await is_over(cluster, made)
        (tmp_path / "ca.crt").unlink()
        await cluster.eventually(lambda: is_over(cluster, made), within_seconds=600)
        return was_signed

    assert not run_cluster(
        check, processes={"signer": a_loop(partial(certificates.add_signer, signing=signing(tmp_path)))}
    )


async def ask_as_node(cluster: Cluster, user: str, *groups: str) -> Object:
    """A node's client certificate, asked for by somebody."""
    api = Api(BASE_URL, As(cluster.transport(user), user, *groups))
    request = a_signing_request(a_request("system:node:foo", "system:nodes"), NODE_CLIENT, NODE_USAGES)
    return await api.create(CERTIFICATE_SIGNING_REQUESTS, request)


async def grant(cluster: Cluster, user: str, right: str) -> None:
    rule = {
        "apiGroups": ["certificates.k8s.io"],
        "resources": [f"certificatesigningrequests{right}"],
        "verbs": ["create"],
    }
    name = f"{user}{right}".replace("/", "-")
    role = {"apiVersion": CLUSTER_ROLES.api_version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}
    await cluster.create(role)
    await cluster.api.request(
        "POST",
        f"/apis/{CLUSTER_ROLES.api_version}/clusterrolebindings",
        body={
            "metadata": {"name": name},
            "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "User", "apiGroup": CLUSTER_ROLES.group, "name": user}],
        },
    )


@pytest.mark.parametrize(
    ("user", "rights", "expected"),
    [
        (
            "system:node:foo",
            ["/selfnodeclient"],
            ["Auto approving self kubelet client certificate after SubjectAccessReview."],
        ),
        ("alice", ["/nodeclient"], ["Auto approving kubelet client certificate after SubjectAccessReview."]),
        ("alice", ["/selfnodeclient"], []),
        ("alice", [], []),
    ],
)
def test_nodes_get_certificates_by_right(user: str, rights: list[str], expected: list[str]) -> None:
    """Their own by one right, those of others by another; without it the request waits for somebody to decide."""

    async def check(cluster: Cluster) -> list[str]:
        for right in ["", *rights]:
            await grant(cluster, user, right)
        made = await ask_as_node(cluster, user)
        await cluster.clock.sleep(30)
        return [condition["message"] for condition in conditions_of(await cluster.read(made))]

    assert expected == run_cluster(check, processes={"approver": a_loop(certificates.add_approver)})


def test_a_right_that_comes_later_counts() -> None:
    """Who was refused is asked about again."""

    async def check(cluster: Cluster) -> Object:
        await grant(cluster, "alice", "")
        made = await ask_as_node(cluster, "alice")
        await cluster.clock.sleep(30)
        await grant(cluster, "alice", "/nodeclient")
        await cluster.clock.sleep(120)
        return await cluster.read(made)

    approved = run_cluster(check, processes={"approver": a_loop(certificates.add_approver)})

    assert [("Approved", "AutoApproved")] == [(c["type"], c["reason"]) for c in conditions_of(approved)]


def test_certificates_that_are_no_nodes_are_for_people_to_decide() -> None:
    """An administrator's wish too: no review is asked for."""

    async def check(cluster: Cluster) -> int:
        await cluster.create(a_signing_request(a_request("alice")))
        await cluster.clock.sleep(60)
        return sum(write.process == "approver" for write in cluster.writes)

    assert 0 == run_cluster(check, processes={"approver": a_loop(certificates.add_approver)})


@pytest.mark.parametrize(
    ("decision", "signs", "seconds", "kept"),
    [
        ("", False, DAY - 60, True),
        ("", False, DAY + 60, False),
        ("Denied", False, HOUR - 60, True),
        ("Denied", False, HOUR + 60, False),
        ("Approved", False, DAY - 60, True),
        ("Approved", False, DAY + 60, False),
        ("Approved", True, 1700, True),
        ("Approved", True, 1900, False),
    ],
)
def test_requests_go_when_they_are_over(tmp_path: Path, decision: str, signs: bool, seconds: float, kept: bool) -> None:
    """An hour after a decision, a day while it waits for one or for its certificate, or when that ends (1800 s)."""

    async def check(cluster: Cluster) -> bool:
        made = await cluster.create(a_signing_request(a_request("alice"), expirationSeconds=1800))
        if decision:
            await decide(cluster, made, decision)
        await cluster.clock.sleep(seconds)
        return bool(await cluster.list(CERTIFICATE_SIGNING_REQUESTS))

    processes = {"cleaner": a_loop(certificates.add_cleaner)}
    if signs:
        processes["signer"] = a_loop(partial(certificates.add_signer, signing=signing(tmp_path)))
    assert kept == run_cluster(check, processes=processes, limit_seconds=3 * DAY)
