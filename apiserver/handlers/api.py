"""The way of an API request: pass the gate, find its target, carry out the verb, answer.

`KubernetesApi` is a raw ASGI application for the paths /api and /apis: FastAPI's dependency machinery would cost more
than the write it leads to. Every refusal on the way is an ApiError and becomes its Status here, and only here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import structlog

from apiserver.admission.chain import unheard
from apiserver.aggregation.aggregated import Aggregated
from apiserver.auth.certificates import CERTIFIED
from apiserver.auth.gate import CONNECTS, LONG_SUBRESOURCES, PASSAGE, Gate, Passage, unnoted
from apiserver.handlers import create, delete, discovery, get, list, patch, update, watch
from apiserver.handlers.bodies import Body, Decoder, HungUp, read_body
from apiserver.handlers.call import Call
from apiserver.handlers.compression import compressed, is_large
from apiserver.handlers.deadlines import USUAL, Times, seconds_of, within
from apiserver.handlers.kubelets import Relayed
from apiserver.handlers.limits import TOO_MANY, InFlightLimits, Overloaded
from apiserver.handlers.negotiation import negotiate, negotiate_custom
from apiserver.handlers.pretty import pretty, wants_pretty
from apiserver.handlers.request import Target, find_target, parse_query, split_path
from apiserver.handlers.request_metrics import (
    Labels,
    Measured,
    Requests,
    reported_dry_run,
    reported_scope,
    reported_verb,
)
from apiserver.handlers.response import NOT_FOUND_TEXT, Receive, Response, Scope, Send, error_response
from apiserver.handlers.subresources import SubresourceHandler
from apiserver.handlers.verbs import leads_nowhere, not_allowed, verb_of
from apiserver.registry.options import ListOptions, Query, Warnings
from apiserver.registry.registry import Registry
from apiserver.storage.interface import StorageUnavailable
from kubeloop.apimachinery.errors import (
    ApiError,
    InternalError,
    ServiceUnavailable,
    UnknownPath,
)

log = structlog.get_logger("apiserver")

Verb = Callable[[Call], Awaitable[Response]]

_HANDLERS: dict[str, Verb] = {
    "get": get.get,
    "create": create.create,
    "update": update.update,
    "patch": patch.patch,
    "delete": delete.delete,
    "deletecollection": list.delete_collection,
}


# The code that metrics show for a client that did not wait for its answer; none is sent.
HUNG_UP = 499
APPLY_TYPES = b"application/apply-patch+"


class KubernetesApi:
    """Serves /api and /apis."""

    def __init__(
        self,
        registry: Registry,
        decoder: Decoder,
        gate: Gate,
        subresources: SubresourceHandler,
        requests: Requests,
        aggregated: Aggregated,
        limits: InFlightLimits | None = None,
        times: Times = USUAL,
    ) -> None:
        """`aggregated`: what others answer for. Requests for that come not here, but discovery tells of it."""
        self._limits, self._times, self._aggregated = limits or InFlightLimits(), times, aggregated
        self._registry, self._decoder = registry, decoder
        self._gate, self._subresources, self._requests = gate, subresources, requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        warnings = Warnings()
        with self._requests.measure(scope["method"]) as measured:
            try:
                response = await self._answer(scope, receive, send, warnings, measured)
            except HungUp:
                measured.code = HUNG_UP
                return
            except Overloaded:
                measured.is_terminated = True
                response = TOO_MANY
            except ApiError as error:
                response = error_response(error)
            except StorageUnavailable as error:
                response = error_response(ServiceUnavailable(str(error), details={}))
            except Exception:
                log.exception("request failed", method=scope["method"], path=scope["path"])
                response = error_response(InternalError.because("the server could not carry out the request"))
            if response is None:
                return  # it answered by itself: a watch, or what a kubelet says
            measured.code, measured.size = response.status, len(response.body)
            if wants_pretty(scope):
                response = pretty(response)
            if is_large(response):
                response = await compressed(scope, response)
            await response.send(send, warnings.texts)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, warnings: Warnings, measured: Measured
    ) -> Response | None:
        headers = dict(scope["headers"])
        query = parse_query(scope["query_string"])
        certified, passage = scope.get(CERTIFIED), scope.get(PASSAGE)
        user = self._gate.admit(scope["method"], scope["path"], query, scope["headers"], certified, passage)
        path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0].decode("latin-1")
        segments = split_path(path)
        found = self._find(segments, headers)
        if isinstance(found, Response):
            may_answer = scope["method"] == "GET" or found is NOT_FOUND_TEXT
            return found if may_answer else error_response(not_allowed())
        if found.kind.is_custom and leads_nowhere(scope["method"], found):
            return NOT_FOUND_TEXT
        verb = verb_of(scope["method"], found, query)
        seconds = seconds_of(verb, found.subresource, query, self._times.request_seconds)
        measured.labels = _labels(verb, found, query, headers)
        if found.kind.deprecation:
            self._note_deprecation(found, warnings, passage)
        accept = _accept(headers) if found.subresource not in CONNECTS else ""  # somebody else answers there
        form = negotiate_custom(accept) if found.kind.is_custom else negotiate(accept, may_stream=not found.name)

        is_proxied = found.subresource == "proxy"  # the body is passed on as it comes

        async def serve() -> Response | None:
            is_read = scope["method"] not in ("GET", "HEAD") and not is_proxied
            body = await read_body(headers, receive) if is_read else _NO_BODY
            call = Call(
                self._registry,
                self._decoder,
                found,
                scope["method"],
                query,
                headers,
                body,
                form,
                user,
                warnings,
                unheard if passage is None else passage.annotate,
                unnoted if passage is None else passage.note,
            )
            if verb == "patch" and not is_proxied:
                call.note(body.raw)
            if verb == "watch":
                measured.long()
                events = self._registry.machinery.cache.events
                options = ListOptions.parse(query)
                await watch.watch(call, options, events, receive, send, self._times.min_watch_seconds)
                return None
            answer = await self._carry_out(verb, call)
            if isinstance(answer, Response):
                return answer
            measured.long()
            await answer.relay(scope, receive, send)
            return None

        # What lasts takes nobody's place.
        counts_as = "watch" if found.subresource in LONG_SUBRESOURCES else verb
        with self._limits.slot(counts_as, user):
            return await within(seconds, serve())

    def _note_deprecation(self, target: Target, warnings: Warnings, passage: Passage | None) -> None:
        resource = target.kind.resource
        warnings.add(target.kind.deprecation)
        self._requests.deprecated(resource.group, resource.version, resource.plural, target.subresource)
        if passage is not None:
            passage.annotate("k8s.io/deprecated", "true")

    def _find(self, segments: Sequence[str], headers: dict[bytes, bytes]) -> Target | Response:
        """The target of a path, or the discovery document it asks for."""
        catalog, aggregated = self._registry.catalog, self._aggregated
        if segments[0] == "api":
            group, rest = "", segments[1:]
        elif len(segments) == 1:
            return discovery.groups(catalog, aggregated, _accept(headers), headers.get(b"if-none-match", b""))
        else:
            group, rest = segments[1], segments[2:]
            if not group or (group not in catalog.groups() and group not in aggregated.groups(catalog)):
                return NOT_FOUND_TEXT
        if not rest:
            if not group:
                return discovery.core(catalog, aggregated, _accept(headers), headers.get(b"if-none-match", b""))
            return discovery.group(group, aggregated.groups(catalog)[group], _accept(headers))
        if group not in catalog.groups():
            return NOT_FOUND_TEXT
        version, rest = rest[0], rest[1:]
        try:
            if version not in catalog.groups().get(group, ()):
                raise UnknownPath
            if not rest:
                return discovery.resources(catalog, group, version, _accept(headers))
            return find_target(catalog, group, version, rest)
        except UnknownPath:
            if catalog.is_custom_group(group):
                return NOT_FOUND_TEXT
            raise

    async def _carry_out(self, verb: str, call: Call) -> Response | Relayed:
        if self._subresources.handles(call):
            return await self._subresources.carry_out(call)
        if verb == "list":
            return await list.list_objects(call, ListOptions.parse(call.query))
        return await _HANDLERS[verb](call)


def _labels(verb: str, target: Target, query: Query, headers: dict[bytes, bytes]) -> Labels:
    resource, subresource = target.kind.resource, target.subresource
    is_apply = verb == "patch" and headers.get(b"content-type", b"").startswith(APPLY_TYPES)
    dry_run = reported_dry_run(query["dryRun"]) if "dryRun" in query else ""
    scope = reported_scope(verb, target.namespace, target.name)
    shown = reported_verb(verb, subresource, is_apply)
    return Labels(shown, dry_run, resource.group, resource.version, resource.plural, subresource, scope)


def _accept(headers: dict[bytes, bytes]) -> str:
    return headers.get(b"accept", b"").decode("latin-1")


_NO_BODY = Body(b"", "")
