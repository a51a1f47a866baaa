"""The webhooks there are: every one of every configuration, compiled once for each version of its configuration.

Called configurations in order of their names, their webhooks as they are listed (v1.36:
k8s.io/apiserver/pkg/admission/configuration). Without any configuration asking costs a look into an empty list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from apiserver.storage.reader import Reader
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.selectors import Selector

if TYPE_CHECKING:
    from apiserver.admission.policies.conditions import Conditions

Json = Mapping[str, Any]

_GROUP = "admissionregistration.k8s.io"
MUTATING, VALIDATING = f"mutatingwebhookconfigurations.{_GROUP}", f"validatingwebhookconfigurations.{_GROUP}"


@dataclass(slots=True)
class Webhook:
    """One webhook. `source` is its entry in the configuration, with every default filled in."""

    configuration: str  # its name
    uid: str  # tells it from all others of its kind
    source: Json
    namespaces: Selector
    objects: Selector
    _conditions: Conditions | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return str(self.source["name"])

    @property
    def ignores_failures(self) -> bool:
        """Whether a call that comes to nothing is as good as a yes."""
        return self.source.get("failurePolicy") == "Ignore"

    @property
    def conditions(self) -> Conditions | None:
        """Its matchConditions, if any; the evaluator of expressions is loaded with the first there are."""
        if self._conditions is None and (sources := self.source.get("matchConditions")):
            from apiserver.admission.policies.conditions import Conditions
            from kubeloop.cel.policy_expressions import Expressions

            self._conditions = Conditions.of(sources, Expressions.of())
        return self._conditions


class Configurations:
    """The webhooks of one kind of configuration, as last committed."""

    def __init__(self, reader: Reader, resource: str) -> None:
        self._reader, self._resource = reader, resource
        # Of the configurations there are: forgotten with them.
        self._compiled: dict[str, tuple[str, Sequence[Webhook]]] = {}

    def webhooks(self) -> Sequence[Webhook]:
        """Every webhook, in the order in which they are asked."""
        found = list(self._reader.list(self._resource))
        if not found:
            return ()
        if len(self._compiled) > len(found):
            names = {one["metadata"]["name"] for one in found}
            self._compiled = {name: known for name, known in self._compiled.items() if name in names}
        return [webhook for configuration in found for webhook in self._of(configuration)]

    def _of(self, configuration: ReadOnlyObject) -> Sequence[Webhook]:
        metadata = configuration["metadata"]
        version, webhooks = self._compiled.get(metadata["name"], ("", ()))
        if version != metadata["resourceVersion"]:
            webhooks = _compile(configuration)
            self._compiled[metadata["name"]] = (metadata["resourceVersion"], webhooks)
        return webhooks


def _compile(configuration: ReadOnlyObject) -> Sequence[Webhook]:
    of, seen = configuration["metadata"]["name"], Counter[str]()
    webhooks = []
    for source in configuration.get("webhooks") or ():
        uid = f"{of}/{source['name']}/{seen[source['name']]}"
        seen[source["name"]] += 1
        webhooks.append(
            Webhook(of, uid, source, _selector(source, "namespaceSelector"), _selector(source, "objectSelector"))
        )
    return webhooks


def _selector(source: Json, name: str) -> Selector:
    """None given means everything."""
    return selectors.from_label_selector(dict(source.get(name) or {}))
