"""What a request asks for, by its method and URL: a verb on a target, or a discovery document.

`KubernetesApi` asks this of every request. Most ask what was asked before, pods to be created, leases to be renewed, so
answers for built-in kinds are remembered by method and path.
"""

from __future__ import annotations

from apiserver.aggregation.aggregated import Aggregated
from apiserver.handlers import discovery
from apiserver.handlers.deadlines import seconds_of
from apiserver.handlers.request import Target, find_target, split_path
from apiserver.handlers.request_metrics import Labels, reported_dry_run, reported_scope, reported_verb
from apiserver.handlers.response import NOT_FOUND_TEXT, Response, error_response
from apiserver.handlers.verbs import leads_nowhere, not_allowed, verb_of
from apiserver.registry.catalog import Catalog
from apiserver.registry.options import Query
from kubeloop.apimachinery.errors import UnknownPath
from kubeloop.apimachinery.values import value

Headers = dict[bytes, bytes]

APPLY_TYPES = b"application/apply-patch+"

# Full: all are forgotten and found again. Longer paths are not remembered.
MAX_REMEMBERED, MAX_PATH_LENGTH = 5_000, 500


@value
class Asked:
    """A request, taken apart."""

    target: Target
    verb: str
    seconds: float | None  # it may take so long; None: as long as it takes
    labels: Labels  # what metrics call it


class Routing:
    """Of one server."""

    def __init__(self, catalog: Catalog, aggregated: Aggregated, usual_seconds: float) -> None:
        """`aggregated`: what others answer for. Requests for that come not here, but discovery tells of it."""
        self._catalog, self._aggregated, self._usual_seconds = catalog, aggregated, usual_seconds
        self._known: dict[tuple[str, str, bool], Asked] = {}
        self._groups = catalog.groups()  # those the answers hold for: another object once a kind comes or goes

    def asked(self, method: str, path: str, query: Query, headers: Headers) -> Asked | Response:
        """`path` has its percent-escapes. Raises UnknownPath, MethodNotAllowed, BadRequest and NotFound."""
        if query or len(path) > MAX_PATH_LENGTH:
            return self._found(method, path, query, headers)
        if self._groups is not self._catalog.groups() or len(self._known) >= MAX_REMEMBERED:
            self._known, self._groups = {}, self._catalog.groups()
        key = method, path, method == "PATCH" and _is_apply(headers)
        known = self._known.get(key)
        if known is not None:
            return known
        found = self._found(method, path, query, headers)
        if isinstance(found, Asked) and not found.target.kind.is_custom:
            self._known[key] = found
        return found

    def _found(self, method: str, path: str, query: Query, headers: Headers) -> Asked | Response:
        target = self._target(split_path(path), headers)
        if isinstance(target, Response):
            may_answer = method == "GET" or target is NOT_FOUND_TEXT
            return target if may_answer else error_response(not_allowed())
        if target.kind.is_custom and leads_nowhere(method, target):
            return NOT_FOUND_TEXT
        verb = verb_of(method, target, query)
        seconds = seconds_of(verb, target.subresource, query, self._usual_seconds)
        return Asked(target, verb, seconds, _labels(verb, target, query, headers))

    def _target(self, segments: list[str], headers: Headers) -> Target | Response:
        """The target of a path, or the discovery document it asks for."""
        catalog, aggregated = self._catalog, self._aggregated
        if segments[0] == "api":
            group, rest = "", segments[1:]
        elif len(segments) == 1:
            return discovery.groups(catalog, aggregated, accept_of(headers), headers.get(b"if-none-match", b""))
        else:
            group, rest = segments[1], segments[2:]
            if not group or (group not in catalog.groups() and group not in aggregated.groups(catalog)):
                return NOT_FOUND_TEXT
        if not rest:
            if not group:
                return discovery.core(catalog, aggregated, accept_of(headers), headers.get(b"if-none-match", b""))
            return discovery.group(group, aggregated.groups(catalog)[group], accept_of(headers))
        if group not in catalog.groups():
            return NOT_FOUND_TEXT
        version, rest = rest[0], rest[1:]
        try:
            if version not in catalog.groups().get(group, ()):
                raise UnknownPath
            if not rest:
                return discovery.resources(catalog, group, version, accept_of(headers))
            return find_target(catalog, group, version, rest)
        except UnknownPath:
            if catalog.is_custom_group(group):
                return NOT_FOUND_TEXT
            raise


def accept_of(headers: Headers) -> str:
    return headers.get(b"accept", b"").decode("latin-1")


def _is_apply(headers: Headers) -> bool:
    return headers.get(b"content-type", b"").startswith(APPLY_TYPES)


def _labels(verb: str, target: Target, query: Query, headers: Headers) -> Labels:
    resource, subresource = target.kind.resource, target.subresource
    dry_run = reported_dry_run(query["dryRun"]) if "dryRun" in query else ""
    scope = reported_scope(verb, target.namespace, target.name)
    shown = reported_verb(verb, subresource, verb == "patch" and _is_apply(headers))
    return Labels(shown, dry_run, resource.group, resource.version, resource.plural, subresource, scope)
