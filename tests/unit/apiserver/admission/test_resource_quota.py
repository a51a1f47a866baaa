"""ResourceQuota: what is charged, refused, and who is charged at once."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, UPDATE, Attributes
from apiserver.admission.plugins.resource_quota import ResourceQuota
from kubeloop.apimachinery.errors import Conflict, Forbidden
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import PODS, SECRETS, SERVICES, Resource
from tests.testkit.reader import DictReader, InstantClock

ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")


class MemoryLedger:
    """Quotas in memory, saved by compare-and-swap like the real ones; `before_save` lets another writer be faster."""

    def __init__(self, *quotas: Object) -> None:
        self.reader = DictReader().put("resourcequotas", *quotas)
        self.overtaking = 0

    async def quotas(self, namespace: str) -> Sequence[Object]:
        await asyncio.sleep(0)
        return [copy.deepcopy(one) for one in self.reader.list("resourcequotas", namespace)]

    async def save(self, quota: Object) -> None:
        await asyncio.sleep(0)
        current = self.reader.get("resourcequotas", "ns", name_of(quota)) or {}
        if self.overtaking:
            self.overtaking -= 1
            current["metadata"]["resourceVersion"] += "1"
        if current["metadata"]["resourceVersion"] != quota["metadata"]["resourceVersion"]:
            raise Conflict.of("resourcequotas", "", name_of(quota), "changed")
        quota["metadata"]["resourceVersion"] += "0"
        self.reader.put("resourcequotas", quota)

    def used(self, name: str = "q") -> Object:
        return dict((self.reader.get("resourcequotas", "ns", name) or {})["status"]["used"])


def quota(hard: Object, used: Object | None = None, name: str = "q", **spec: Any) -> Object:
    return {
        "metadata": {"name": name, "namespace": "ns", "resourceVersion": "1"},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": dict.fromkeys(hard, "0") if used is None else used},
    }


def charge(ledger: MemoryLedger, resource: Resource, obj: Object, operation: str = CREATE, **more: Any) -> None:
    plugin = ResourceQuota(ledger.reader, ledger, InstantClock())
    asyncio.run(plugin.validate(Attributes(operation, resource, "ns", name_of(obj), obj, **more)))


def refused(ledger: MemoryLedger, resource: Resource, obj: Object, **more: Any) -> str:
    with pytest.raises(Forbidden) as raised:
        charge(ledger, resource, obj, **more)
    return raised.value.message


def a_pod(name: str = "a", requests: Object | None = None, limits: Object | None = None, **spec: Any) -> Object:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "resources": resources}], **spec}}


def test_objects_are_counted_until_the_quota_is_full() -> None:
    """Both the old name and count/… work; the refusal says what was asked, used and allowed."""
    ledger = MemoryLedger(quota({"secrets": "1", "count/roles.rbac.authorization.k8s.io": "0"}))

    charge(ledger, SECRETS, {"metadata": {"name": "a"}})
    secret = refused(ledger, SECRETS, {"metadata": {"name": "b"}})
    role = refused(ledger, ROLES, {"metadata": {"name": "r"}})

    count = "count/roles.rbac.authorization.k8s.io"
    assert {"secrets": "1", count: "0"} == ledger.used()
    assert 'secrets "b" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1' == (
        secret
    )
    assert (
        'roles.rbac.authorization.k8s.io "r" is forbidden: '
        f"exceeded quota: q, requested: {count}=1, used: {count}=0, limited: {count}=0"
    ) == role


def test_compute_must_be_stated_and_adds_up() -> None:
    """Containers name what a quota counts; all that is exceeded is listed in order of the names."""
    hard = {"pods": "2", "requests.cpu": "1", "limits.memory": "1Gi"}
    ledger = MemoryLedger(quota(hard))

    silent = refused(ledger, PODS, a_pod())
    charge(ledger, PODS, a_pod(requests={"cpu": "600m"}, limits={"memory": "256Mi"}))
    greedy = refused(ledger, PODS, a_pod("b", requests={"cpu": "600m"}, limits={"memory": "1Gi"}))

    assert 'pods "a" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c' == silent
    assert (
        'pods "b" is forbidden: exceeded quota: q, requested: limits.memory=1Gi,requests.cpu=600m, '
        "used: limits.memory=256Mi,requests.cpu=600m, limited: limits.memory=1Gi,requests.cpu=1"
    ) == greedy
    assert {"limits.memory": "256Mi", "pods": "1", "requests.cpu": "600m"} == ledger.used()


def test_a_quota_not_yet_counted_refuses() -> None:
    """Until the quota loop has filled in what is used, nobody may create what it counts."""
    ledger = MemoryLedger(quota({"secrets": "5"}, used={}))

    message = refused(ledger, SECRETS, {"metadata": {"name": "a"}})

    assert 'secrets "a" is forbidden: status unknown for quota: q, resources: secrets' == message


def test_a_dry_run_is_checked_but_not_charged() -> None:
    """Nothing is booked."""
    ledger = MemoryLedger(quota({"secrets": "1"}))

    charge(ledger, SECRETS, {"metadata": {"name": "a"}}, dry_run=True)

    assert {"secrets": "0"} == ledger.used()


def test_an_update_is_charged_with_the_difference() -> None:
    """A service that becomes a NodePort costs its ports; getting smaller is given back by the quota loop."""
    ledger = MemoryLedger(
        quota({"services": "1", "services.nodeports": "2"}, {"services": "1", "services.nodeports": "0"})
    )
    ports = [{"port": 80}, {"port": 81}]
    old = {"metadata": {"name": "s"}, "spec": {"type": "ClusterIP", "ports": ports}}
    new = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}}

    charge(ledger, SERVICES, new, UPDATE, old_object=old)
    charge(ledger, SERVICES, old, UPDATE, old_object=new)

    assert {"services": "1", "services.nodeports": "2"} == ledger.used()


@pytest.mark.parametrize(
    ("scope", "spec", "is_counted"),
    [
        ("BestEffort", {}, True),
        ("NotBestEffort", {}, False),
        ("Terminating", {"activeDeadlineSeconds": 5}, True),
        ("NotTerminating", {"activeDeadlineSeconds": 5}, False),
        ("PriorityClass", {"priorityClassName": "x"}, True),
        ("PriorityClass", {}, False),
    ],
)
def test_scopes_choose_the_pods(scope: str, spec: Object, is_counted: bool) -> None:
    """A quota with scopes counts only pods that fall under all of them."""
    ledger = MemoryLedger(quota({"pods": "3"}, scopes=[scope]))

    charge(ledger, PODS, a_pod(**spec))

    assert {"pods": str(int(is_counted))} == ledger.used()


def test_all_quotas_of_a_namespace_are_charged() -> None:
    """And the first one that is full refuses."""
    ledger = MemoryLedger(quota({"pods": "5"}, name="one"), quota({"pods": "1"}, name="two"))

    charge(ledger, PODS, a_pod())
    message = refused(ledger, PODS, a_pod("b"))

    assert ({"pods": "1"}, {"pods": "1"}) == (ledger.used("one"), ledger.used("two"))
    assert 'pods "b" is forbidden: exceeded quota: two, requested: pods=1, used: pods=1, limited: pods=1' == message


def test_a_faster_writer_is_outdone() -> None:
    """After a conflict the charge is worked out anew; after several the write fails."""
    quick, stubborn = MemoryLedger(quota({"pods": "5"})), MemoryLedger(quota({"pods": "5"}))
    quick.overtaking, stubborn.overtaking = 2, 9

    charge(quick, PODS, a_pod())

    assert {"pods": "1"} == quick.used()
    with pytest.raises(Conflict):
        charge(stubborn, PODS, a_pod())


def test_creates_at_once_never_exceed_the_quota() -> None:
    """Of ten pods at the same time, three pass a quota of three."""
    ledger = MemoryLedger(quota({"pods": "3"}))
    plugin = ResourceQuota(ledger.reader, ledger, InstantClock())

    async def create(i: int) -> bool:
        try:
            await plugin.validate(Attributes(CREATE, PODS, "ns", f"p{i}", a_pod(f"p{i}")))
        except Forbidden:
            return False
        return True

    async def all_at_once() -> list[bool]:
        return await asyncio.gather(*(create(i) for i in range(10)))

    passed = asyncio.run(all_at_once())

    assert (3, {"pods": "3"}) == (sum(passed), ledger.used())
