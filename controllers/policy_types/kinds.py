"""The kinds that a policy matches, as far as it names them.

Rules with a wildcard for group or version and subresources are left out, and no more than ten kinds of a rule are
looked at (k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go, v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from controllers.discovery import DiscoveryFailed, discover
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api

MOST_OF_A_RULE = 10


class KindName(NamedTuple):
    """Ordered as warnings are."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class ServedKinds:
    """What the server serves is asked when it is first needed, and again when a policy names what nobody knew."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._served: Sequence[Resource] = ()

    async def matched_by(self, rules: Sequence[Mapping[str, Any]]) -> list[KindName]:
        """The kinds of all rules, in order."""
        asked = [question for rule in rules for question in _questions(rule)]
        if not all(any(self._of(question)) for question in asked):
            self._served = await self._discovered()
        found = (islice(self._of_rule(rule), MOST_OF_A_RULE) for rule in rules)
        return sorted({kind for kinds in found for kind in kinds})

    async def _discovered(self) -> list[Resource]:
        try:
            served = await discover(self._api)
        except DiscoveryFailed as failed:
            served = list(failed.served)
        return [each.resource for each in served]

    def _of_rule(self, rule: Mapping[str, Any]) -> Iterator[KindName]:
        for question in _questions(rule):
            yield from self._of(question)

    def _of(self, question: tuple[str, str, str]) -> Iterator[KindName]:
        """The core group has no name, which upstream's mapper takes for not saying which."""
        group, version, name = question
        for resource in self._served:
            names = (resource.plural, resource.kind.lower())
            if group in ("", resource.group) and version == resource.version and name.lower() in names:
                yield KindName(resource.group, resource.version, resource.kind)


def _questions(rule: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Groups, versions and resources that a rule names, in every combination."""
    groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
    if any("*" in text for text in (*groups, *versions)):
        return
    resources = [name for name in rule.get("resources") or () if not {"*", "/"} & set(name)]
    yield from product(sorted(groups), sorted(versions), sorted(resources))
