"""Admission: the plugins a write passes before it is stored.

`registry/store.py` calls `mutate` on the decoded and defaulted object, then validates it, then calls `validate`.
Which plugins there are and in which order stands in `admission/catalog.py`; each is one module in `admission/plugins/`.
A plugin refuses by raising an ApiError.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from apiserver.admission.metrics import AdmissionMetrics, Times
from apiserver.auth.authentication import User
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"

NOBODY = User("")

Annotate = Callable[[str, str], None]  # (key, value) of the audit event; the first value of a key stays

# Annotations with this prefix hold parts of objects: only for events at level Request and above.
PATCH_ANNOTATION = "patch.webhook.admission.k8s.io/"


def unheard(key: str, value: str) -> None:
    """The annotations of requests that nobody audits."""


@dataclass(slots=True)
class Reinvocation:
    """What plugins that may be asked again remember of a write: the chain runs a second time if one of them wants it.

    `wanted` is set by a plugin that changed the object; `is_second` holds during the second run, after which there is
    no other. `notes` are each plugin's own, by its name.
    """

    wanted: bool = False
    is_second: bool = False
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Attributes:
    """One write, as plugins see it.

    `object` is the new object, which `admit` may change in place or replace (None on DELETE); `old_object` is the
    stored one, never to be changed (None on CREATE). `name` is "" where the server has yet to generate it. `warn` and
    `annotate` reach the client and the audit log.
    """

    operation: str
    resource: Resource
    namespace: str = ""
    name: str = ""
    object: Object | None = None
    old_object: Object | None = None
    user: User = NOBODY
    subresource: str = ""
    dry_run: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    warn: Callable[[str], None] = lambda text: None
    annotate: Annotate = unheard
    _reinvocation: Reinvocation | None = None

    @property
    def reinvocation(self) -> Reinvocation:
        """Made when first asked for: few writes meet a plugin that needs it."""
        if self._reinvocation is None:
            self._reinvocation = Reinvocation()
        return self._reinvocation

    @property
    def wants_reinvocation(self) -> bool:
        return self._reinvocation is not None and self._reinvocation.wanted

    def forbidden(self, why: str) -> Forbidden:
        """The refusal of this write: `pods "web" is forbidden: why`; a name to be generated is named by its prefix."""
        metadata = (self.object or {}).get("metadata") or {}
        name = self.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
        return Forbidden.of(self.resource.plural, self.resource.group, name, why)


class Plugin:
    """One rule about writes. Subclasses override `admit` (may change the object), `validate` (may not), or both."""

    operations: frozenset[str] = frozenset({CREATE, UPDATE})
    resources: frozenset[str] | None = None  # "pods", "storageclasses.storage.k8s.io"; None: all

    async def admit(self, attributes: Attributes) -> None:
        """Change or refuse the object on its way in."""

    async def validate(self, attributes: Attributes) -> None:
        """Refuse the object as it would be stored."""

    def handles(self, operation: str, resource: Resource) -> bool:
        return operation in self.operations and (self.resources is None or str(resource) in self.resources)


class Step(NamedTuple):
    """What one plugin does about one kind of write, and how long that took so far."""

    run: Callable[[Attributes], Awaitable[None]]
    times: Times


class Steps(NamedTuple):
    """What all plugins that mind do about one kind of write, and how long that took as a whole."""

    each: Sequence[Step]
    times: Times


class Chain:
    """Runs the plugins in order. Which ones concern a kind of write is worked out once."""

    def __init__(self, plugins: Iterable[Plugin] = (), monotonic: Callable[[], float] = time.monotonic) -> None:
        self._plugins, self._monotonic = tuple(plugins), monotonic
        self.metrics = AdmissionMetrics()
        # (operation, group, plural) -> steps. Bounded by the resources served, times four.
        self._admit: dict[tuple[str, str, str], Steps] = {}
        self._validate: dict[tuple[str, str, str], Steps] = {}

    async def mutate(self, attributes: Attributes) -> None:
        """Let every plugin change or refuse the write; the first refusal ends it.

        Once more where a plugin that changed the object wants the others to see that.
        """
        steps = self._steps(self._admit, attributes, "admit")
        await self._run(steps, attributes)
        if attributes.wants_reinvocation:
            attributes.reinvocation.is_second = True
            await self._run(steps, attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Let every plugin refuse the finished object."""
        await self._run(self._steps(self._validate, attributes, "validate"), attributes)

    async def _run(self, steps: Steps, attributes: Attributes) -> None:
        """One step after the other, each with its time: what lies between two looks at the clock."""
        monotonic = self._monotonic
        began = last = monotonic()
        for run, times in steps.each:
            try:
                await run(attributes)
            except BaseException:
                now = monotonic()
                times.refused.observe(now - last)
                steps.times.refused.observe(now - began)
                raise
            now = monotonic()
            times.passed.observe(now - last)
            last = now
        steps.times.passed.observe(last - began)

    def _steps(self, known: dict[tuple[str, str, str], Steps], on: Attributes, method: str) -> Steps:
        key = (on.operation, on.resource.group, on.resource.plural)
        steps = known.get(key)
        if steps is None:
            each = tuple(
                Step(getattr(plugin, method), self.metrics.plugin(type(plugin).__name__, method, on.operation))
                for plugin in self._plugins
                if plugin.handles(on.operation, on.resource) and _overrides(plugin, method)
            )
            steps = known[key] = Steps(each, self.metrics.step(method, on.operation))
        return steps


def _overrides(plugin: Plugin, method: str) -> bool:
    return getattr(type(plugin), method) is not getattr(Plugin, method)
