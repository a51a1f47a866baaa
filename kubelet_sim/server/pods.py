"""The pods of this process's nodes as the API shows them, their runs, and who waits for changes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubelet_sim.server.exchange import Exchange, Refused, Unreachable
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.forwarding import NODE_HEADER
from kubeloop.apimachinery.meta import Object, ObjectKey, key_of, uid_of
from kubeloop.apimachinery.times import parse_time
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.http_request import Request

Json = Mapping[str, Any]

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


@dataclass(frozen=True, slots=True)
class SeenRun:
    """One run of a container as its status tells of it, to the second; `finished_at` is None while it runs."""

    id: str
    started_at: datetime
    finished_at: datetime | None = None
    exit_code: int = 0


class Pods:
    """`shown`: a pod as its kubelet knows it, which may be ahead of the informer. `unreachable`: why nobody gets to a
    node, "" where they do.
    """

    def __init__(
        self,
        informer: Informer,
        shown: Callable[[ObjectKey], Object | None],
        is_own_node: Callable[[str], bool],
        unreachable: Callable[[str], str] = lambda node: "",
    ) -> None:
        self._informer, self._shown = informer, shown
        self._is_own_node, self._unreachable = is_own_node, unreachable
        self._waiting: dict[ObjectKey, set[asyncio.Event]] = {}
        informer.add_handler(self._changed)

    def asked(self, request: Request, exchange: Exchange, namespace: str, name: str) -> Object:
        """The pod that is asked for. Refused where it is not on this node; Unreachable, and no more said later, where
        the node is cut off.
        """
        pod = self._shown(ObjectKey(namespace, name))
        node = (pod["spec"].get("nodeName") or "") if pod is not None else ""
        if pod is None or request.headers.get(NODE_HEADER, node) != node or not self._is_own_node(node):
            raise Refused(404, f"pod {go_quote(name)} does not exist")
        self._reach(node, exchange)
        return pod

    def asked_node(self, request: Request, exchange: Exchange) -> str:
        """The node that is asked. The same."""
        node = request.headers.get(NODE_HEADER, "")
        if not self._is_own_node(node):
            raise Refused(404, f"node {go_quote(node)} does not exist")
        self._reach(node, exchange)
        return node

    def _reach(self, node: str, exchange: Exchange) -> None:
        if why := self._unreachable(node):
            raise Unreachable(why)
        exchange.is_cut_off = lambda: bool(self._unreachable(node))

    def on(self, node: str) -> list[Object]:
        """The pods of a node."""
        return [pod for pod in self._informer.list() if pod["spec"].get("nodeName") == node]

    def list(self) -> Sequence[Object]:
        """All there are, also those of other processes' nodes."""
        return self._informer.list()

    def again(self, pod: Object) -> Object | None:
        """The same pod as it is now; None when it is gone."""
        found = self._shown(key_of(pod))
        return found if found is not None and uid_of(found) == uid_of(pod) else None

    @contextmanager
    def changes(self, pod: Object) -> Iterator[asyncio.Event]:
        """An event that is set with every change of the pod; whoever waits clears it."""
        key, event = key_of(pod), asyncio.Event()
        self._waiting.setdefault(key, set()).add(event)
        try:
            yield event
        finally:
            self._waiting[key].discard(event)
            if not self._waiting[key]:
                del self._waiting[key]

    def _changed(self, delta: Delta) -> None:
        for event in self._waiting.get(key_of(delta.obj), ()):
            event.set()


async def wait(changed: asyncio.Event, seconds: float | None) -> None:
    """For a change, or until so long has passed."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await changed.wait()
    changed.clear()


def container_of(pod: Json, name: str) -> Json:
    """Of the spec. Refused where there is none."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in pod["spec"].get(field) or ():
            if container["name"] == name:
                return dict(container)
    raise Refused(404, f"container {go_quote(name)} not found in pod {go_quote(pod['metadata']['name'])}")


def logged_run(pod: Json, name: str, is_previous: bool) -> SeenRun:
    """Whose log is asked for. Refused, in the words of validateContainerLogStatus, where there is none."""
    title = f"container {go_quote(name)} in pod {go_quote(pod['metadata']['name'])}"
    status = status_of(pod, name)
    if status is None:
        raise Refused(400, f"{title} is not available")
    state, last = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
    if is_previous:
        if not last or not last.get("containerID"):
            raise Refused(400, f"previous terminated {title} not found")
        return _ended(last)
    if "running" in state:
        return SeenRun(status.get("containerID") or "", _time(state["running"]))
    ended = state.get("terminated") or {}
    if ended.get("containerID"):
        return _ended(ended)
    if last and last.get("containerID"):
        return _ended(last)
    if "terminated" in state or last:
        raise Refused(400, f"{title} is terminated")
    reason = (state.get("waiting") or {}).get("reason") or ""
    why = {
        "ErrImagePull": ": image can't be pulled",
        "ImagePullBackOff": ": trying and failing to pull image",
        "": " - no logs yet",
    }
    raise Refused(400, f"{title} is waiting to start{why.get(reason, f': {reason}')}")


def the_run(pod: Json, name: str, run_id: str) -> SeenRun | None:
    """The run of this id as it is now; None where the status tells no more of it."""
    status = status_of(pod, name) or {}
    state = status.get("state") or {}
    if "running" in state and status.get("containerID") == run_id:
        return SeenRun(run_id, _time(state["running"]))
    for ended in (state.get("terminated"), (status.get("lastState") or {}).get("terminated")):
        if ended and ended.get("containerID") == run_id:
            return _ended(ended)
    return None


def running(pod: Json, name: str) -> SeenRun | None:
    """The run under way."""
    status = status_of(pod, name) or {}
    state = (status.get("state") or {}).get("running")
    return SeenRun(status.get("containerID") or "", _time(state)) if state else None


def running_ids(pod: Json) -> Iterator[str]:
    """Of the runs under way."""
    for field in _STATUSES:
        for status in (pod.get("status") or {}).get(field) or ():
            if "running" in (status.get("state") or {}):
                yield status.get("containerID") or ""


def status_of(pod: Json, name: str) -> Json | None:
    for field in _STATUSES:
        for status in (pod.get("status") or {}).get(field) or ():
            if status["name"] == name:
                return dict(status)
    return None


def _ended(terminated: Json) -> SeenRun:
    finished = terminated.get("finishedAt")
    started = _time(terminated)
    finished_at = parse_time(finished) if finished else started
    return SeenRun(terminated.get("containerID") or "", started, finished_at, terminated.get("exitCode") or 0)


def _time(state: Json) -> datetime:
    return parse_time(state.get("startedAt") or "1970-01-01T00:00:00Z")
