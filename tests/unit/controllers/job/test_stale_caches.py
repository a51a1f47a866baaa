"""A Job's reconcile whose caches show nothing of what it did: the test moves them on by hand."""

import random
from typing import Any

from controllers import children
from controllers.job.pod_requests import PodRequests
from controllers.job.reconciler import JobReconciler
from controllers.job.released import Released
from controllers.pod_control import PodControl
from kubeloop.apimachinery.meta import Object, finalizers_of, key_of
from kubeloop.apimachinery.resource import JOBS, PODS, Resource
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.expectations import Expectations
from kubeloop.testing.builders import a_job
from kubeloop.testing.cluster import Cluster, run_cluster


class Bench:
    """A reconciler over the API server of `cluster` and two caches that nobody fills."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.jobs, self.pods = self._informer(JOBS), children.index(self._informer(PODS))
        expectations, released = Expectations(cluster.clock), Released()
        expectations.follow(self.pods, JOBS)
        released.follow(self.pods)
        recorder = EventRecorder(cluster.api, "job-controller", cluster.clock, random.Random(0))
        requests = PodRequests(cluster.api, PodControl(cluster.api, recorder, JOBS), expectations, released)
        caches = (self.jobs, self.pods, expectations, released)
        self.reconciler = JobReconciler(cluster.api, cluster.clock, *caches, requests, recorder)

    def _informer(self, resource: Resource) -> Informer:
        return Informer(self.cluster.api, Scope(resource), self.cluster.clock, random.Random(0))

    async def create(self, job: Object) -> Object:
        """The Job, which the cache has too."""
        made = await self.cluster.create(job)
        self.jobs.notify([self.jobs.store.put(made)])
        return made

    async def show(self, resource: Resource) -> None:
        """Bring one cache up to date."""
        informer = self.jobs if resource == JOBS else self.pods
        listed = await self.cluster.list(resource)
        typed = [{"apiVersion": resource.api_version, "kind": resource.kind, **obj} for obj in listed]
        informer.notify(informer.store.replace(typed))

    async def end_pods(self, phase: str) -> None:
        for pod in await self.cluster.list(PODS):
            name = pod["metadata"]["name"]
            status = {"status": {"phase": phase}}
            await self.cluster.api.patch(PODS, name, status, "default", subresource="status")


def test_pods_that_have_not_shown_up_are_not_made_again() -> None:
    """However often it is called, nothing is created before the cache shows what was created."""

    async def check(cluster: Cluster) -> list[int]:
        bench = Bench(cluster)
        made = await bench.create(a_job("work").spec(parallelism=3, completions=9))
        counts = []
        for _ in range(3):
            await bench.reconciler.reconcile(key_of(made))
            counts.append(len(await cluster.list(PODS)))
        await bench.show(PODS)
        await bench.reconciler.reconcile(key_of(made))
        return [*counts, len(await cluster.list(PODS))]

    assert [3, 3, 3, 3] == run_cluster(check)


def test_a_surplus_pod_is_deleted_once() -> None:
    """Scaled down, a Job takes the finalizer off and deletes, and not again while the cache shows the pod running."""

    async def check(cluster: Cluster) -> list[str]:
        bench = Bench(cluster)
        made = await bench.create(a_job("work").spec(parallelism=4, completions=9))
        await bench.reconciler.reconcile(key_of(made))
        await bench.show(PODS)
        await cluster.patch(made, {"spec": {"parallelism": 3}})
        await bench.show(JOBS)
        for _ in range(3):
            await bench.reconciler.reconcile(key_of(made))
        pods = PODS.path("default")
        return [w.method for w in cluster.writes if w.target.startswith(pods) and w.method != "POST"]

    assert ["PATCH", "DELETE"] == run_cluster(check)


def test_a_pod_is_counted_once_while_the_caches_are_behind() -> None:
    """Neither the Job's own old status nor the finalizer in the cache makes it count again."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        bench = Bench(cluster)
        made = await bench.create(a_job("work").spec(parallelism=2, completions=9))
        await bench.reconciler.reconcile(key_of(made))
        await bench.end_pods("Failed")
        await bench.show(PODS)
        for _ in range(3):
            await bench.reconciler.reconcile(key_of(made))
        stale = (await cluster.read(made))["status"]
        await bench.show(JOBS)
        await bench.reconciler.reconcile(key_of(made))
        finalizers = [finalizer for pod in await cluster.list(PODS) for finalizer in finalizers_of(pod)]
        return stale["failed"], (await cluster.read(made))["status"]["failed"], finalizers

    assert (2, 2, []) == run_cluster(check)


def test_a_finished_job_is_left_alone_before_the_cache_knows() -> None:
    """Once it has written Complete, it writes nothing more."""

    async def check(cluster: Cluster) -> tuple[str, int]:
        bench = Bench(cluster)
        made = await bench.create(a_job("work"))
        await bench.reconciler.reconcile(key_of(made))
        await bench.end_pods("Succeeded")
        await bench.show(PODS)
        await bench.reconciler.reconcile(key_of(made))
        writes = len(cluster.writes)
        await bench.reconciler.reconcile(key_of(made))
        last = (await cluster.read(made))["status"]["conditions"][-1]
        return last["type"], len(cluster.writes) - writes

    assert ("Complete", 0) == run_cluster(check)
