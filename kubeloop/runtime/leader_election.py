"""Of several replicas of a process, one works: whoever holds the Lease.

Semantics of client-go's tools/leaderelection (v1.36). What it does not give is fencing: a leader that was suspended
for longer than the lease believes for a moment that it still leads, while another already works. Loops are safe
against that by themselves, because every write carries a resourceVersion or a precondition.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, resource_version_of
from kubeloop.apimachinery.resource import LEASES
from kubeloop.apimachinery.times import format_micro_time
from kubeloop.client.api import Api
from kubeloop.runtime.event_recorder import EventRecorder

if TYPE_CHECKING:
    from kubeloop.runtime.metrics import RuntimeMetrics

log = structlog.get_logger(__name__)

_JITTER = 1.2


@dataclass(frozen=True, slots=True)
class ElectionTimes:
    """kube-controller-manager's defaults. duration > renew deadline > retry period, or leadership would flap."""

    lease_seconds: float = 15
    renew_deadline_seconds: float = 10
    retry_seconds: float = 2

    def __post_init__(self) -> None:
        if self.lease_seconds <= self.renew_deadline_seconds:
            raise ValueError(
                f"--leader-elect-lease-duration ({self.lease_seconds:g}s) must be greater than"
                f" --leader-elect-renew-deadline ({self.renew_deadline_seconds:g}s)"
            )
        if self.renew_deadline_seconds <= self.retry_seconds * _JITTER:
            raise ValueError(
                f"--leader-elect-renew-deadline ({self.renew_deadline_seconds:g}s) must be greater than"
                f" {_JITTER} times --leader-elect-retry-period ({self.retry_seconds:g}s)"
            )


class LeadershipLost(Exception):
    """The lease could not be renewed in time: stop at once, somebody else may lead already."""


class LeaderElector:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        rng: random.Random,
        name: str,
        identity: str,
        namespace: str = "kube-system",
        times: ElectionTimes | None = None,
        recorder: EventRecorder | None = None,
        metrics: RuntimeMetrics | None = None,
    ) -> None:
        self._api, self._clock, self._rng = api, clock, rng
        self._name, self._namespace, self.identity = name, namespace, identity
        self._times = times or ElectionTimes()
        self._recorder, self._metrics = recorder, metrics
        self._observed: Object | None = None
        self._observed_at = 0.0  # on our own clock: the holder's may be wrong

    @property
    def is_leader(self) -> bool:
        return self._holder() == self.identity

    @property
    def is_standing_by(self) -> bool:
        """Somebody else leads, and we are ready to take over."""
        return bool(self._holder()) and not self.is_leader

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for the lease, then run `work` to its end while renewing; release on the way out.

        Raises LeadershipLost (in an ExceptionGroup, with whatever `work` raised when it was cancelled).
        """
        self._report(0)
        await self._acquire()
        log.info("became leader", lease=self._name, identity=self.identity)
        await self._tell(f"{self.identity} became leader")
        self._report(1)
        try:
            async with asyncio.TaskGroup() as tasks:
                renewal = tasks.create_task(self._renew(), name=f"renew lease {self._name}")
                await work()
                renewal.cancel()
        finally:
            self._report(0)
            await self._release()

    async def _acquire(self) -> None:
        told = ""
        while not await self._try_acquire_or_renew():
            if self.is_standing_by and told != (told := self._holder()):
                log.info("waiting for the lease", lease=self._name, holder=told, lease_seconds=self._lease_seconds())
            await self._clock.sleep(self._times.retry_seconds * (1 + _JITTER * self._rng.random()))

    async def _renew(self) -> None:
        """Every retry period; gives up after the renew deadline without success."""
        while True:
            await self._clock.sleep(self._times.retry_seconds)
            try:
                async with asyncio.timeout(self._times.renew_deadline_seconds):
                    while not await self._try_acquire_or_renew():
                        await self._clock.sleep(self._times.retry_seconds)
            except TimeoutError:
                await self._tell(f"{self.identity} stopped leading")
                raise LeadershipLost(f"lease {self._namespace}/{self._name} could not be renewed") from None

    async def _try_acquire_or_renew(self) -> bool:
        try:
            if self.is_leader and self._is_valid():
                try:
                    await self._write(self._observed, is_new_term=False)
                    return True
                except ApiError as error:
                    log.debug("optimistic renewal failed", lease=self._name, error=error.message)
            return await self._read_and_write()
        except ApiError as error:
            log.debug("lease not acquired", lease=self._name, error=error.message)
            return False

    async def _read_and_write(self) -> bool:
        try:
            current = await self._api.get(LEASES, self._name, self._namespace)
        except NotFound:
            await self._write(None, is_new_term=True)
            return True
        if self._observed is None or resource_version_of(current) != resource_version_of(self._observed):
            self._observe(current)
        if self._holder() and self._is_valid() and not self.is_leader:
            return False
        await self._write(current, is_new_term=not self.is_leader)
        return True

    async def _write(self, lease: Object | None, is_new_term: bool) -> None:
        now = format_micro_time(self._clock.now())
        if lease is None:
            body = {
                "apiVersion": LEASES.api_version,
                "kind": LEASES.kind,
                "metadata": {"name": self._name, "namespace": self._namespace},
                "spec": self._spec(now, now, 0),
            }
            self._observe(await self._api.create(LEASES, body))
            return
        spec = lease.get("spec") or {}
        transitions = spec.get("leaseTransitions") or 0
        acquired = now if is_new_term else spec.get("acquireTime", now)
        new_spec = {**spec, **self._spec(now, acquired, transitions + is_new_term)}
        self._observe(await self._api.update(LEASES, {**lease, "spec": new_spec}))

    async def _release(self) -> None:
        """Let the next one in at once. Where this fails, it waits until the lease has run out."""
        if not self.is_leader:
            return
        try:
            current = await self._api.get(LEASES, self._name, self._namespace)
            if (current.get("spec") or {}).get("holderIdentity") != self.identity:
                return
            now = format_micro_time(self._clock.now())
            transitions = current["spec"].get("leaseTransitions") or 0
            spec = self._spec(now, now, transitions) | {"holderIdentity": "", "leaseDurationSeconds": 1}
            self._observe(await self._api.update(LEASES, {**current, "spec": spec}))
        except ApiError as error:
            log.warning("lease not released", lease=self._name, error=error.message)

    def _spec(self, now: str, acquired: str, transitions: int) -> Object:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self._times.lease_seconds),
            "acquireTime": acquired,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    def _observe(self, lease: Object) -> None:
        self._observed, self._observed_at = lease, self._clock.monotonic()

    def _holder(self) -> str:
        return ((self._observed or {}).get("spec") or {}).get("holderIdentity") or ""

    def _is_valid(self) -> bool:
        return self._observed_at + self._lease_seconds() > self._clock.monotonic()

    def _lease_seconds(self) -> int:
        return int(((self._observed or {}).get("spec") or {}).get("leaseDurationSeconds") or 0)

    async def _tell(self, message: str) -> None:
        if self._recorder is not None:
            about = self._observed or {}
            await self._recorder.event(about, "Normal", "LeaderElection", message)

    def _report(self, is_leader: int) -> None:
        if self._metrics:
            self._metrics.leader.labels(self._name).set(is_leader)
