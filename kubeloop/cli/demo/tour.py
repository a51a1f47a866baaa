"""The tour: what is done to the cluster, what it must come to, and which loop did what.

It speaks to the cluster as anybody would: it writes with kubectl and reads with a client of the API.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.resource import DEPLOYMENTS, PODS, REPLICA_SETS
from kubeloop.cli.demo.snapshot import Snapshot
from kubeloop.cli.demo.view import View
from kubeloop.cli.kubectl import Kubectl, KubectlFailed
from kubeloop.cli.throwaway import ThrowAwayStack
from kubeloop.client.api import Api
from kubeloop.clock import SystemClock

MANIFEST = Path(__file__).with_name("web.yaml")
NAME, NAMESPACE = "web", "default"
NEW_IMAGE = "nginx:1.28"
MIN_AVAILABLE = 4  # of 5, as maxUnavailable is 25 % rounded down
CONVERGE_SECONDS = 60.0
POLL_SECONDS = 0.1
REPLICA_SET_LOOP = "replicaset-controller"


class NotConverged(Exception):
    """The cluster did not come to what the step asks for; the text says what was missing."""


async def demo(view: View | None = None) -> None:
    """Run the tour on a stack of its own. NotConverged, UsageError or StartFailed where something does not work."""
    view = view or View()
    stack = ThrowAwayStack()
    kubectl = Kubectl.found(stack.kubeconfig)
    clock = SystemClock()
    began = clock.monotonic()
    view.title("Starting a throw-away stack")
    async with stack, Api(stack.server, user_agent="kubeloop-demo") as api:
        running = ", ".join(f"{process.name} ({process.pid})" for process in stack.state().processes)
        view.say(f"API server on {stack.server}; processes: {running}.")
        try:
            await Tour(stack, kubectl, api, view, clock).run()
        except KubectlFailed as error:
            raise NotConverged(str(error)) from error
        finally:
            view.settle()
    view.title(f"Everything converged, in {clock.monotonic() - began:.0f} seconds. The stack is gone again.")


class Tour:
    """The steps, in order. Each ends with a sentence, or raises NotConverged."""

    def __init__(self, stack: ThrowAwayStack, kubectl: Kubectl, api: Api, view: View, clock: Clock) -> None:
        self._stack, self._kubectl, self._api, self._view, self._clock = stack, kubectl, api, view, clock

    async def run(self) -> None:
        await self._apply()
        await self._delete_a_pod()
        await self._kill_the_replica_set_loop()
        await self._roll_out_an_image()

    async def _apply(self) -> None:
        self._view.title("1. kubectl apply -f examples/web/web.yaml")

        await self._kubectl.run("apply", "-f", str(MANIFEST))

        now = await self._converge("three pods Ready on nodes", lambda seen: seen.has_converged(3))
        self._view.say(
            f"You wrote a Deployment. The Deployment loop made the ReplicaSet {now.replica_sets[0].name}; the "
            f"ReplicaSet loop made 3 Pods; the scheduler gave them the nodes {', '.join(now.nodes)}; their kubelets "
            "reported them Running. None of these processes spoke to another: each only watches the API."
        )

    async def _delete_a_pod(self) -> None:
        before = await self._look()
        victim = before.pods[0]
        self._view.title(f"2. kubectl delete pod {victim.name}")

        await self._kubectl.run("delete", "pod", victim.name, "--wait=false")

        now = await self._converge(
            "another pod in its place", lambda seen: seen.has_converged(3) and victim not in seen.pods
        )
        new = next(pod for pod in now.pods if pod.name not in {old.name for old in before.pods})
        self._view.say(
            f"The ReplicaSet loop saw 2 pods where 3 are wanted and made {new.name}; the scheduler put it on "
            f"{new.node}; the Deployment loop had nothing to do."
        )

    async def _kill_the_replica_set_loop(self) -> None:
        killed = await self._running_loop()
        self._view.title(f"3. kill -9 {killed} (the ReplicaSet loop), and kubectl scale deployment web --replicas=5")

        os.kill(killed, signal.SIGKILL)
        await self._kubectl.run("scale", f"deployment/{NAME}", "--replicas=5")

        await self._converge("five pods Ready on nodes", lambda seen: seen.has_converged(5))
        restarted = await self._running_loop(other_than=killed)
        self._view.say(
            "The Deployment loop asked for 5 while nobody made pods. The supervisor started the ReplicaSet loop again "
            f"as process {restarted}; it remembered nothing, read the state from the API, and made the 2 missing pods."
        )

    async def _roll_out_an_image(self) -> None:
        before = await self._look()
        old = next(replica_set for replica_set in before.replica_sets if replica_set.wanted)
        self._view.title(f"4. kubectl set image deployment/web nginx={NEW_IMAGE}")

        await self._kubectl.run("set", "image", f"deployment/{NAME}", f"nginx={NEW_IMAGE}")

        fewest_available = 5

        def has_rolled(seen: Snapshot) -> bool:
            nonlocal fewest_available
            fewest_available = min(fewest_available, seen.available)
            return seen.has_converged(5, NEW_IMAGE)

        now = await self._converge("five pods of the new image", has_rolled)
        if fewest_available < MIN_AVAILABLE:
            raise NotConverged(
                f"only {fewest_available} pods were available meanwhile; at least {MIN_AVAILABLE} must be"
            )
        await self._kubectl.run("rollout", "status", f"deployment/{NAME}", f"--timeout={CONVERGE_SECONDS:.0f}s")
        new = next(replica_set for replica_set in now.replica_sets if replica_set.wanted)
        self._view.say(
            f"The Deployment loop made the ReplicaSet {new.name} and moved the replicas over step by step, never fewer "
            f"than {fewest_available} available; {old.name} stays at 0, and `kubectl rollout undo` can go back to it."
        )

    async def _running_loop(self, other_than: int = 0) -> int:
        """The process id of the ReplicaSet loop, once the supervisor has told it; it tells 0 while there is none."""
        deadline = self._clock.monotonic() + CONVERGE_SECONDS
        while (pid := self._stack.pid(REPLICA_SET_LOOP)) in (0, other_than):
            if self._clock.monotonic() > deadline:
                raise NotConverged(f"the supervisor did not restart {REPLICA_SET_LOOP} (pid {other_than})")
            await self._clock.sleep(POLL_SECONDS)
        return pid

    async def _look(self) -> Snapshot:
        selector = f"app={NAME}"
        deployments = (await self._api.list(DEPLOYMENTS, NAMESPACE, label_selector=selector))["items"]
        if not deployments:
            return Snapshot()
        replica_sets = (await self._api.list(REPLICA_SETS, NAMESPACE, label_selector=selector))["items"]
        pods = (await self._api.list(PODS, NAMESPACE, label_selector=selector))["items"]
        return Snapshot.of(deployments[0], replica_sets, pods)

    async def _converge(self, wanted: str, is_reached: Callable[[Snapshot], bool]) -> Snapshot:
        """Show the cluster until it is there."""
        deadline = self._clock.monotonic() + CONVERGE_SECONDS
        while True:
            seen = await self._look()
            self._view.show(seen)
            if is_reached(seen):
                return seen
            if self._clock.monotonic() > deadline:
                raise NotConverged(f"{wanted}: not reached within {CONVERGE_SECONDS:.0f} s; last seen: {seen.line()}")
            await self._clock.sleep(POLL_SECONDS)
