"""Histories: what some writers did to ConfigMaps in two namespaces, as hypothesis makes them up."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

from hypothesis import strategies as st

from tests.properties.live import MERGE, Live, Refused

LABELS = (None, "web", "db")
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Step:
    """`kind`: create, update, patch, delete, finalize (removes the finalizer), deletecollection."""

    kind: str
    namespace: int
    name: str
    label: str | None
    has_finalizer: bool


STEPS = st.builds(
    Step,
    kind=st.sampled_from(
        ("create", "create", "create", "update", "patch", "patch", "delete", "delete", "finalize", "deletecollection")
    ),
    namespace=st.integers(0, 1),
    name=st.sampled_from("abcd"),
    label=st.sampled_from(LABELS),
    has_finalizer=st.sampled_from((False, False, False, True)),
)
HISTORIES = st.lists(STEPS, min_size=5, max_size=40)


class Playground:
    """Two namespaces of one history's own, whose objects bear a label that tells them from other histories'."""

    def __init__(self, server: Live) -> None:
        self._server = server
        self.tag = f"h{next(_numbers)}"
        self._writes = 0

    def path(self, namespace: int, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.tag}-{namespace}/configmaps" + (f"/{name}" if name else "")

    async def prepare(self) -> None:
        for namespace in (0, 1):
            await self._server.call("POST", "/api/v1/namespaces", {"metadata": {"name": f"{self.tag}-{namespace}"}})

    async def play(self, step: Step) -> None:
        """One step; what is not there, or there already, is not minded."""
        try:
            await self._play(step)
        except Refused as refused:
            if refused.code not in (404, 409):
                raise

    async def end(self) -> str:
        """Writes an object named end that every selector of the tests takes; returns its resourceVersion."""
        labels = {"tag": self.tag, "app": "web"}
        obj = await self._server.call("POST", self.path(0), {"metadata": {"name": "end", "labels": labels}})
        return str(obj["metadata"]["resourceVersion"])

    async def _play(self, step: Step) -> None:
        self._writes += 1
        metadata: dict[str, Any] = {"name": step.name, "labels": {"tag": self.tag}}
        if step.label:
            metadata["labels"]["app"] = step.label
        if step.has_finalizer:
            metadata["finalizers"] = ["example.com/wait"]
        body = {"metadata": metadata, "data": {"n": str(self._writes)}}
        path = self.path(step.namespace, step.name)
        if step.kind == "create":
            await self._server.call("POST", self.path(step.namespace), body)
        elif step.kind == "update":
            await self._server.call("PUT", path, body)
        elif step.kind == "patch":
            patch = {"metadata": {"labels": {"app": step.label}}, "data": {"n": str(self._writes)}}
            await self._server.call("PATCH", path, patch, MERGE)
        elif step.kind == "finalize":
            await self._server.call("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        elif step.kind == "delete":
            await self._server.call("DELETE", path)
        else:
            await self._server.call("DELETE", f"{self.path(step.namespace)}?labelSelector=app={step.label or 'web'}")
