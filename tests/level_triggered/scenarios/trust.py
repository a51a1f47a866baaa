"""Certificates, tokens, and the types of policies' expressions."""

from __future__ import annotations

import atexit
import tempfile
from pathlib import Path

from controllers.certificates.flags import Signing, SigningFiles
from controllers.certificates.signers import CLIENT, FAULTS, NODE_CLIENT
from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import (
    CERTIFICATE_SIGNING_REQUESTS,
    SECRETS,
    SERVICE_ACCOUNTS,
    VALIDATING_ADMISSION_POLICIES,
)
from kubeloop.testing.builders import a_pod
from kubeloop.testing.cluster import Cluster
from kubeloop.testing.scenario import Scenario
from kubeloop.tokens import key_file
from tests.level_triggered.loops import processes
from tests.level_triggered.waiting import until, until_gone
from tests.testkit.certificate_requests import NODE_USAGES, a_request, a_signing_request
from tests.unit.controllers.policy_types.test_loop import a_policy

REQUESTS, POLICIES = CERTIFICATE_SIGNING_REQUESTS, VALIDATING_ADMISSION_POLICIES
# Keys of the authority and of tokens, for all runs of this process.
_KEYS = tempfile.TemporaryDirectory(prefix="level-triggered-")
atexit.register(_KEYS.cleanup)
KEYS = Path(_KEYS.name)
SIGNING = Signing({one: SigningFiles(KEYS / "ca.crt", KEYS / "ca.key", made_when_missing=True) for one in FAULTS})


HOUR, DAY = 3600.0, 86_400.0


def without_secrets(resource: str, obj: Object) -> Object:
    """Requests, signatures and tokens hold keys that chance made; that they are there counts."""
    if resource == "secrets":
        return {**obj, "data": sorted(obj.get("data") or {})}
    if resource != "certificatesigningrequests.certificates.k8s.io":
        return obj
    status = obj.get("status") or {}
    is_signed = "certificate" in status
    return {**obj, "spec": {**obj["spec"], "request": ""}, "status": {**status, "certificate": is_signed}}


def without_empty_types(resource: str, obj: Object) -> Object:
    """Warnings applied away leave no `typeChecking`; the same applied once more leaves an empty one."""
    status = obj.get("status") or {}
    if resource != str(POLICIES) or status.get("typeChecking"):
        return obj
    return {**obj, "status": {field: value for field, value in status.items() if field != "typeChecking"}}


def named(name: str, request: Object) -> Object:
    return {**request, "metadata": {"name": name}}


async def asked_and_signed(cluster: Cluster) -> None:
    good = await cluster.create(named("good", a_signing_request(a_request("alice", "devs"))))
    bad = await cluster.create(named("bad", a_signing_request(a_request("alice"), signer=NODE_CLIENT)))
    await cluster.create(named("undecided", a_signing_request(a_request("bob"))))
    for request in (good, bad):
        await decide(cluster, request)

    async def are_over() -> bool:
        failed = {one["type"] for one in conditions_of(await cluster.read(bad, REQUESTS))}
        return "Failed" in failed and "certificate" in ((await cluster.read(good, REQUESTS)).get("status") or {})

    await until(cluster, are_over)
    late = await cluster.create(named("late", a_signing_request(a_request("carol"), signer=CLIENT)))
    await decide(cluster, late)


async def decide(cluster: Cluster, request: Object, decision: str = "Approved") -> None:
    condition = {"type": decision, "status": "True", "reason": "Test", "message": "so be it"}
    await cluster.api.update(REQUESTS, {**request, "status": {"conditions": [condition]}}, subresource="approval")


async def asked_by_nodes(cluster: Cluster) -> None:
    """Everything here is asked for by an admin, who may do what nodes may."""
    for name in ("one", "two"):
        request = a_signing_request(a_request(f"system:node:{name}", "system:nodes"), NODE_CLIENT, NODE_USAGES)
        await cluster.create(named(name, request))
    await cluster.create(named("a-client", a_signing_request(a_request("alice"))))


async def forgotten(cluster: Cluster) -> None:
    """Denied ones go after an hour, undecided ones after a day."""
    denied = await cluster.create(named("denied", a_signing_request(a_request("alice"))))
    await decide(cluster, denied, "Denied")
    await cluster.clock.sleep(2 * HOUR)
    await until_gone(cluster, denied, REQUESTS)
    pending = await cluster.create(named("pending", a_signing_request(a_request("bob"))))
    await cluster.create(named("other", a_signing_request(a_request("bob"), signer="example.com/own")))
    await cluster.clock.sleep(26 * HOUR)
    await until_gone(cluster, pending, REQUESTS)


def a_token_secret(name: str, account: str) -> Object:
    annotations = {"kubernetes.io/service-account.name": account}
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": metadata}


async def tokens_for_accounts(cluster: Cluster) -> None:
    for name in ("kept", "gone"):
        metadata = {"name": name, "namespace": "default"}
        await cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    await cluster.clock.sleep(120)  # a Secret whose account nobody knows yet is deleted
    secrets = [await cluster.create(a_token_secret(f"{name}-token", name)) for name in ("kept", "gone")]
    await until_filled(cluster, "kept-token")
    await until_filled(cluster, "gone-token")
    await cluster.patch(secrets[0], {"data": {"token": None}})
    await cluster.api.delete(SERVICE_ACCOUNTS, "gone", "default")
    await until_gone(cluster, secrets[1])
    await until_filled(cluster, "kept-token")
    await until_gone(cluster, await cluster.create(a_token_secret("nobodys", "nobody")))


async def unused_tokens(cluster: Cluster) -> None:
    """Those that nobody has used since yesterday are marked, and go a day later."""
    names = ("old", "mounted", "used")
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}}
    await cluster.create({**account, "secrets": [{"name": name} for name in names]})
    for name in (*names, "manual"):
        await cluster.create(a_token_secret(name, "robot"))
    used = {"kubernetes.io/legacy-token-last-used": "2026-01-06"}
    await cluster.api.patch(SECRETS, "used", {"metadata": {"labels": used}}, "default")
    await cluster.create(a_pod("web").spec(volumes=[{"name": "token", "secret": {"secretName": "mounted"}}]))
    # The loop looks once a day, and a day later again if it could not do what it saw.
    await cluster.clock.sleep(2 * DAY - HOUR)
    await until_gone(cluster, a_token_secret("old", "robot"), within_seconds=20 * DAY)


async def until_filled(cluster: Cluster, name: str) -> None:
    async def is_filled() -> bool:
        try:
            return "token" in ((await cluster.api.get(SECRETS, name, "default")).get("data") or {})
        except NotFound:
            return False

    await until(cluster, is_filled)


async def policies_with_mistakes(cluster: Cluster) -> None:
    for name, expression in (("right", "object.spec.replicas < 5"), ("wrong", "object.spec.replicass < 5")):
        policy = await cluster.create(named(name, a_policy(expression)), POLICIES)
        await until_checked(cluster, policy)
    await cluster.patch(policy, {"spec": {"validations": [{"expression": "object.spec.replicas < 7"}]}}, POLICIES)
    await until_checked(cluster, policy)
    mistaken = {"spec": {"validations": [{"expression": "object.spec.replicas == 'x'"}]}}
    await cluster.patch(named("right", policy), mistaken, POLICIES)


async def until_checked(cluster: Cluster, policy: Object) -> None:
    async def is_checked() -> bool:
        found = await cluster.read(policy, POLICIES)
        return bool((found.get("status") or {}).get("observedGeneration") == found["metadata"]["generation"])

    await until(cluster, is_checked)


SIGNER, APPROVER, CLEANER = (
    f"certificatesigningrequest-{what}-controller" for what in ("signing", "approving", "cleaner")
)
LEGACY_TOKENS = "legacy-serviceaccount-token-cleaner-controller"
TOKENS, TYPES = "serviceaccount-token-controller", "validatingadmissionpolicy-status-controller"

SCENARIOS = (
    Scenario(SIGNER, processes(SIGNER, signing=SIGNING), asked_and_signed, reduce=without_secrets),
    Scenario(APPROVER, processes(APPROVER), asked_by_nodes, reduce=without_secrets),
    Scenario(CLEANER, processes(CLEANER), forgotten, reduce=without_secrets),
    Scenario(
        TOKENS,
        processes(TOKENS, service_account_key=KEYS / key_file.NAME),
        tokens_for_accounts,
        reduce=without_secrets,
    ),
    Scenario(LEGACY_TOKENS, processes(LEGACY_TOKENS, legacy_token_seconds=0.0), unused_tokens),
    Scenario(TYPES, processes(TYPES), policies_with_mistakes, reduce=without_empty_types),
)
