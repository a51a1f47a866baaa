"""Certificates in a living cluster: the operator and the garbage collector, on virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any

import pytest

from controllers import garbage_collector
from examples.operators import certificate
from examples.operators.certificate.api import CERTIFICATES, TLS_TYPE
from examples.operators.certificate.reconciler import CertificateReconciler
from examples.operators.certificate.secret_data import entry
from kubeloop.apimachinery.conditions import get_condition
from kubeloop.apimachinery.errors import Invalid, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, controller_of, owner_references_of, uid_of
from kubeloop.apimachinery.resource import EVENTS, SECRETS
from kubeloop.runtime.manager import Manager
from kubeloop.testing.cluster import Cluster, Surroundings, a_loop, run_cluster
from kubeloop.testing.virtual_time import EPOCH, LoopClock
from tests.testkit.certificates import (
    a_ca_secret,
    a_certificate,
    an_authority,
    damaged,
    held,
    is_trusted,
    keys_by,
)
from tests.testkit.operators import OPERATORS, documents, install

OPERATOR = "operator"
HOST = "shop.example.com"


class Calendar:
    """A clock on which a day passes in a minute of the cluster's time: watches need not be kept up for months."""

    DAY_SECONDS = 60.0
    _speed = 86_400 / DAY_SECONDS

    def __init__(self) -> None:
        self._clock = LoopClock()

    def now(self) -> datetime:
        return EPOCH + (self._clock.now() - EPOCH) * self._speed

    def monotonic(self) -> float:
        return self._clock.monotonic() * self._speed

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds / self._speed)


def add_operator(manager: Manager) -> None:
    certificate.add_to(manager, manager.rng, keys_by(manager.rng))


async def by_the_calendar(surroundings: Surroundings) -> None:
    await a_loop(add_operator)(Surroundings(surroundings.api, Calendar(), surroundings.rng))


def play(check: Callable[[Cluster], Coroutine[Any, Any, None]], days_pass: bool = False, ca_days: int = 3650) -> None:
    """Run `check` in a cluster that serves the kind and has a CA."""

    async def main(cluster: Cluster) -> None:
        await install(cluster, "certificate")
        await cluster.create(a_ca_secret(an_authority(EPOCH, days=ca_days)))
        await check(cluster)

    operator = by_the_calendar if days_pass else a_loop(add_operator)
    run_cluster(main, processes={OPERATOR: operator, "collector": a_loop(garbage_collector.add_to)})


async def create(cluster: Cluster, wanted: Object) -> Object:
    return await cluster.create(wanted, CERTIFICATES)


async def change(cluster: Cluster, name: str = "web", **spec: Any) -> None:
    await cluster.api.patch(CERTIFICATES, name, {"spec": spec}, "default")


async def read_secret(cluster: Cluster, name: str = "web-tls") -> Object:
    return await cluster.api.get(SECRETS, name, "default")


async def status_of(cluster: Cluster, name: str = "web") -> Object:
    read: Object = (await cluster.api.get(CERTIFICATES, name, "default")).get("status") or {}
    return read


async def is_issued(cluster: Cluster, revision: int = 1, name: str = "web", within_seconds: float = 60) -> Object:
    """The status, once it tells of that revision and nothing more is to be done."""

    async def said() -> Object | None:
        status = await status_of(cluster, name)
        issuing = get_condition(status.get("conditions") or (), "Issuing") or {}
        is_done = (status.get("revision"), issuing.get("reason")) == (revision, "UpToDate")
        return status if is_done else None

    return await cluster.eventually(said, within_seconds, every_seconds=min(within_seconds / 600, 1))


async def is_not_ready(cluster: Cluster, reason: str, name: str = "web", within_seconds: float = 60) -> Object:
    """The condition, once it says so."""

    async def said() -> Object | None:
        ready = get_condition((await status_of(cluster, name)).get("conditions") or (), "Ready")
        is_so = ready is not None and (ready["status"], ready["reason"]) == ("False", reason)
        return dict(ready) if ready is not None and is_so else None

    return await cluster.eventually(said, within_seconds, every_seconds=min(within_seconds / 600, 1))


async def another_operator(cluster: Cluster, knows: tuple[str, ...]) -> CertificateReconciler:
    """One whose cache knows the Certificate `web` and these Secrets only."""
    manager = Manager(cluster.api, cluster.clock, random.Random(1))
    operator = CertificateReconciler(manager, manager.rng, keys_by(manager.rng))
    operator.certificates.store.put(await cluster.api.get(CERTIFICATES, "web", "default"))
    for name in knows:
        operator.secrets.store.put(await read_secret(cluster, name))
    return operator


async def told(cluster: Cluster) -> list[tuple[str, str]]:
    """Type and reason of each event, in order, as often as it was told."""
    events = sorted(await cluster.list(EVENTS), key=lambda each: str(each["metadata"]["name"]))
    return [(each["type"], each["reason"]) for each in events for _ in range(each["count"])]


def test_a_certificate_is_issued_that_clients_trust() -> None:
    """The Secret is of the type that servers read, belongs to the Certificate, and the status tells of it."""

    async def check(cluster: Cluster) -> None:
        made = await create(cluster, a_certificate())

        status = await is_issued(cluster)

        secret = await read_secret(cluster)
        await cluster.settled()
        conditions = {each["type"]: each["status"] for each in status["conditions"]}
        assert is_trusted(secret, HOST, cluster.clock.now())
        assert not is_trusted(secret, "other.example.com", cluster.clock.now())
        assert (TLS_TYPE, uid_of(made)) == (secret["type"], (controller_of(secret) or {})["uid"])
        assert {"Ready": "True", "Issuing": "False"} == conditions
        assert ("2026-01-01T00:00:00Z", "2026-03-02T00:00:00Z", "2026-04-01T00:00:00Z") == (
            status["notBefore"],
            status["renewalTime"],
            status["notAfter"],
        )
        assert status["serialNumber"] == f"{held(secret).serial_number:x}"
        assert [("Normal", "Missing"), ("Normal", "Issued")] == await told(cluster)

    play(check)


def test_ninety_days_are_renewed_after_sixty() -> None:
    """Nothing but time passes: the second certificate starts while the first is good for another month."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())
        await is_issued(cluster)
        first = await read_secret(cluster)

        await is_issued(cluster, revision=2, within_seconds=61 * Calendar.DAY_SECONDS)

        second = await read_secret(cluster)
        gap = held(second).not_valid_before_utc - held(first).not_valid_before_utc
        assert timedelta(days=60) <= gap < timedelta(days=60, minutes=5)
        assert entry(first, "tls.key") != entry(second, "tls.key")
        assert is_trusted(second, HOST, EPOCH + timedelta(days=149))
        assert ("Normal", "Renewal") in await told(cluster)

    play(check, days_pass=True)


def test_renew_before_says_when() -> None:
    """The certificate of ten days is renewed on the third, with its key, which is to be kept."""

    async def check(cluster: Cluster) -> None:
        key = {"rotationPolicy": "Never"}
        await create(cluster, a_certificate(duration="240h", renewBefore="168h", privateKey=key))
        await is_issued(cluster)
        first = await read_secret(cluster)

        await is_issued(cluster, revision=2, within_seconds=4 * Calendar.DAY_SECONDS)

        second = await read_secret(cluster)
        gap = held(second).not_valid_before_utc - held(first).not_valid_before_utc
        assert timedelta(days=3) <= gap < timedelta(days=3, minutes=5)
        assert entry(first, "tls.key") == entry(second, "tls.key")

    play(check, days_pass=True)


OTHER_KEY = entry(a_ca_secret(an_authority(EPOCH, seed=2)), "tls.key")


@pytest.mark.parametrize(
    "damage",
    [
        {"tls_crt": b"junk"},
        {"tls_key": b"junk"},
        {"tls_key": OTHER_KEY},
        {"ca_crt": b""},
        {"tls_crt": b"", "tls_key": b""},
    ],
    ids=lambda damage: " ".join(f"{name}={content[:4].decode()}" for name, content in damage.items()),
)
def test_a_damaged_secret_is_mended(damage: dict[str, bytes]) -> None:
    """Whatever was done to it; what others have put beside the certificate stays."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())
        await is_issued(cluster)
        secret = await read_secret(cluster)

        await cluster.api.update(SECRETS, damaged(secret, keystore=b"mine", **damage))

        async def is_mended() -> bool:
            found = await read_secret(cluster)
            return is_trusted(found, HOST, cluster.clock.now()) and b"mine" == entry(found, "keystore")

        await cluster.eventually(is_mended)
        await cluster.settled()
        assert "True" == (get_condition((await status_of(cluster))["conditions"], "Ready") or {})["status"]

    play(check)


def test_a_deleted_secret_is_made_again() -> None:
    """The count of certificates goes on, though the Secret that had it is gone."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())
        await is_issued(cluster)

        await cluster.api.delete(SECRETS, "web-tls", "default")

        await is_issued(cluster, revision=2)
        assert is_trusted(await read_secret(cluster), HOST, cluster.clock.now())

    play(check)


def test_a_stripped_owner_reference_comes_back() -> None:
    """Without another certificate: the Secret is still known as the operator's own."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())
        await is_issued(cluster)

        await cluster.api.patch(SECRETS, "web-tls", {"metadata": {"ownerReferences": None}}, "default")

        async def is_back() -> bool:
            return bool(owner_references_of(await read_secret(cluster)))

        await cluster.eventually(is_back)
        await cluster.settled()
        assert 1 == (await status_of(cluster))["revision"]

    play(check)


@pytest.mark.parametrize(
    "spec",
    [
        {"dnsNames": ["shop.example.com", "www.example.com"]},
        {"commonName": "shop"},
        {"ipAddresses": ["10.0.0.7", "fd00::7"]},
        {"usages": ["digital signature", "server auth", "client auth"]},
        {"duration": "48h"},
        {"privateKey": {"algorithm": "Ed25519"}},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_another_spec_is_another_certificate(spec: dict[str, Any]) -> None:
    """At once, and only one."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())
        await is_issued(cluster)

        await change(cluster, **spec)

        status = await is_issued(cluster, revision=2)
        await cluster.settled()
        assert (2, 2) == (status["observedGeneration"], (await status_of(cluster))["revision"])
        assert ("Normal", "SpecChanged") in await told(cluster)

    play(check)


def test_a_new_ca_signs_anew() -> None:
    """When the CA's Secret holds another CA, or the spec names another, clients of that one are served."""

    async def check(cluster: Cluster) -> None:
        now = cluster.clock.now()
        second, third = an_authority(now, seed=2), an_authority(now, seed=3)
        await create(cluster, a_certificate())
        await is_issued(cluster)

        await cluster.api.patch(SECRETS, "ca", {"data": a_ca_secret(second)["data"]}, "default")
        await is_issued(cluster, revision=2)
        replaced = await read_secret(cluster)
        await cluster.create(a_ca_secret(third, "other"))
        await change(cluster, caSecretName="other")
        await is_issued(cluster, revision=3)
        renamed = await read_secret(cluster)

        assert [second.root, third.root] == [entry(each, "ca.crt") for each in (replaced, renamed)]
        assert is_trusted(replaced, HOST, now)
        assert is_trusted(renamed, HOST, now)

    play(check)


def test_a_missing_ca_is_waited_for() -> None:
    """People are told once; when it comes, nobody waits longer."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate(caSecretName="later"))
        await is_not_ready(cluster, "CAMissing")
        await cluster.settled()

        await cluster.create(a_ca_secret(an_authority(cluster.clock.now()), "later"))

        await is_issued(cluster, within_seconds=1)
        assert [("Warning", "CAMissing"), ("Normal", "Missing"), ("Normal", "Issued")] == await told(cluster)

    play(check)


def test_a_ca_that_cannot_sign_is_final_until_it_changes() -> None:
    """Nobody tries again, and no other Secret is touched; the condition says what is wrong with it."""

    async def check(cluster: Cluster) -> None:
        leaf = a_certificate("leaf", caSecretName=None, secretName="no-ca", commonName="leaf")
        await create(cluster, leaf)
        await is_issued(cluster, name="leaf")
        await create(cluster, a_certificate(caSecretName="no-ca"))

        said = await is_not_ready(cluster, "CAUnfit")
        await cluster.settled()
        writes = len(cluster.writes)
        await cluster.clock.sleep(600)

        assert "tls.crt is no CA's certificate" in said["message"]
        assert writes == len(cluster.writes)
        await change(cluster, name="leaf", isCA=True)
        await is_issued(cluster)

    play(check)


@pytest.mark.parametrize("secret_type", [TLS_TYPE, "Opaque"])
def test_a_secret_of_somebody_else_is_left_alone(secret_type: str) -> None:
    """Also one of a type that the operator does not watch. Once it is gone, the certificate is issued."""

    async def check(cluster: Cluster) -> None:
        foreign = a_ca_secret(an_authority(cluster.clock.now(), seed=2), "web-tls")
        before = await cluster.create({**foreign, "type": secret_type})
        await create(cluster, a_certificate())

        await is_not_ready(cluster, "SecretTaken")
        await cluster.settled()
        assert before == await read_secret(cluster)
        assert [("Warning", "SecretTaken")] == await told(cluster)

        await cluster.delete(before)
        await is_issued(cluster, within_seconds=61)

    play(check)


def test_two_certificates_do_not_fight_for_a_secret() -> None:
    """The first has it, the second says so; neither writes again and again."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())
        await is_issued(cluster)

        await create(cluster, a_certificate("second", secretName="web-tls"))

        await is_not_ready(cluster, "SecretTaken", name="second")
        await cluster.settled()
        assert 1 == (await status_of(cluster))["revision"]

    play(check)


def test_the_secret_goes_with_its_certificate() -> None:
    """The garbage collector takes it: the operator has no right to delete Secrets."""

    async def check(cluster: Cluster) -> None:
        made = await create(cluster, a_certificate())
        await is_issued(cluster)

        await cluster.delete(made, CERTIFICATES)

        async def is_gone() -> bool:
            try:
                await read_secret(cluster)
            except NotFound:
                return True
            return False

        await cluster.eventually(is_gone)

    play(check)


def test_the_sample_is_a_ca_and_what_it_signs() -> None:
    """The CA signs itself; when it changes, so does everything under it, and clients go on trusting."""

    async def check(cluster: Cluster) -> None:
        for obj in documents(OPERATORS / "certificate" / "sample.yaml"):
            await create(cluster, {**obj, "metadata": {**obj["metadata"], "namespace": "default"}})
        await is_issued(cluster, name="shop-ca")
        await is_issued(cluster)
        assert is_trusted(await read_secret(cluster), f"www.{HOST}", cluster.clock.now())

        await change(cluster, name="shop-ca", commonName="another CA")

        await is_issued(cluster, revision=2)
        secret = await read_secret(cluster)
        assert "CN=another CA" == held(secret).issuer.rfc4514_string()
        assert is_trusted(secret, f"www.{HOST}", cluster.clock.now())

    play(check)


def test_nothing_outlives_its_ca_and_nobody_spins_at_its_end() -> None:
    """A CA of 30 days cuts the 90 short; there is nothing to renew until it changes, and at the end that is said."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())
        status = await is_issued(cluster)
        assert ("2026-01-31T00:00:00Z", None) == (status["notAfter"], status.get("renewalTime"))

        said = await is_not_ready(cluster, "CAUnfit", within_seconds=31 * Calendar.DAY_SECONDS)

        assert "2026-01-31T00:00:00Z" in said["message"]
        assert 1 == (await status_of(cluster))["revision"]
        later = EPOCH + timedelta(days=30)
        await cluster.api.patch(SECRETS, "ca", {"data": a_ca_secret(an_authority(later))["data"]}, "default")
        await is_issued(cluster, revision=2)

    play(check, days_pass=True, ca_days=30)


@pytest.mark.parametrize("after_writes", range(1, 6))
def test_a_crash_after_any_write_issues_one_certificate(after_writes: int) -> None:
    """Killed between any two of its steps and started again, the operator goes on with what is there."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())

        def has_written() -> bool:
            return after_writes <= sum(write.process == OPERATOR for write in cluster.writes)

        await cluster.eventually(has_written, every_seconds=0.0001)
        await cluster.stop(OPERATOR)
        cluster.start(OPERATOR)

        await is_issued(cluster)
        await cluster.settled()
        assert 1 == (await status_of(cluster))["revision"]

    play(check)


def test_a_quiet_cluster_stays_quiet() -> None:
    """A restart, and ten minutes in which nothing happens, cost no write."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())
        await is_issued(cluster)
        await cluster.settled()
        writes = len(cluster.writes)

        await cluster.stop(OPERATOR)
        cluster.start(OPERATOR)
        await cluster.clock.sleep(600)

        assert writes == len(cluster.writes)

    play(check)


def test_a_cache_that_lags_issues_nothing_twice() -> None:
    """It does not know the Secret yet that is there: the server is asked before another is signed."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())
        await is_issued(cluster)
        await cluster.stop(OPERATOR)
        before = await read_secret(cluster)
        late = await another_operator(cluster, knows=("ca",))
        writes = len(cluster.writes)

        await late.reconcile(ObjectKey("default", "web"))

        assert before == await read_secret(cluster)
        assert writes == len(cluster.writes)

    play(check)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"dnsNames": None}, "give at least one of"),
        ({"isCA": True}, "a CA needs a name"),
        ({"caSecretName": "web-tls"}, "leave caSecretName out"),
        ({"duration": "24h", "renewBefore": "24h"}, "must be less than the duration"),
        ({"duration": "59s"}, "must be at least 1m"),
        ({"dnsNames": ["*.*.example.com"]}, "should match"),
        ({"ipAddresses": ["10.0.0.256"]}, "must be an IP address"),
        ({"usages": ["everything"]}, "Unsupported value"),
        ({"privateKey": {"algorithm": "RSA", "size": 1024}}, "size is 2048, 3072 or 4096 for RSA"),
        ({"privateKey": {"algorithm": "Ed25519", "size": 256}}, "left out for Ed25519"),
    ],
)
def test_the_schema_refuses_what_could_never_be_issued(spec: dict[str, Any], said: str) -> None:
    """Before the operator sees it, with a message that says what would do."""

    async def check(cluster: Cluster) -> None:
        with pytest.raises(Invalid, match=said):
            await create(cluster, a_certificate(**spec))

    play(check)


def test_the_secrets_name_cannot_change() -> None:
    """The old Secret would be left behind."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_certificate())

        with pytest.raises(Invalid, match="make another Certificate"):
            await change(cluster, secretName="other")

    play(check)
