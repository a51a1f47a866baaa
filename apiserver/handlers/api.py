"""The way of an API request: pass the gate, find its target, carry out the verb, answer.

`KubernetesApi` is a raw ASGI application for the paths /api and /apis: FastAPI's dependency machinery would cost more
than the write it leads to. Every refusal on the way is an ApiError and becomes its Status here, and only here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from apiserver.admission.chain import unheard
from apiserver.aggregation.aggregated import Aggregated
from apiserver.auth.certificates import CERTIFIED
from apiserver.auth.gate import CONNECTS, LONG_SUBRESOURCES, PASSAGE, Gate, Passage, unnoted
from apiserver.handlers import create, delete, get, list, patch, update, watch
from apiserver.handlers.bodies import Body, Decoder, HungUp, read_body
from apiserver.handlers.call import Call
from apiserver.handlers.compression import compressed, is_large
from apiserver.handlers.deadlines import USUAL, Deadlines, Times
from apiserver.handlers.kubelets import Relayed
from apiserver.handlers.lateness import LateWatches
from apiserver.handlers.limits import TOO_MANY, InFlightLimits, Overloaded
from apiserver.handlers.negotiation import negotiate, negotiate_custom
from apiserver.handlers.pretty import pretty, wants_pretty
from apiserver.handlers.request import Target, parse_query
from apiserver.handlers.request_metrics import Measured, Requests
from apiserver.handlers.response import Receive, Response, Scope, Send, error_response
from apiserver.handlers.routing import Routing, accept_of
from apiserver.handlers.status_forms import as_accepted
from apiserver.handlers.subresources import SubresourceHandler
from apiserver.registry.options import ListOptions, Warnings
from apiserver.registry.registry import Registry
from apiserver.storage.interface import StorageUnavailable
from kubeloop.apimachinery.errors import ApiError, InternalError, ServiceUnavailable

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
        late_watches: LateWatches | None = None,
    ) -> None:
        """`aggregated`: what others answer for; see `Routing`. `late_watches`: None where they are in time."""
        self._limits, self._times, self._deadlines = limits or InFlightLimits(), times, Deadlines(times.request_seconds)
        self._routing = Routing(registry.catalog, aggregated, times.request_seconds)
        self._registry, self._decoder = registry, decoder
        self._gate, self._subresources, self._requests = gate, subresources, requests
        self._late_watches = late_watches

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
            response = as_accepted(response, scope)
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
        asked = self._routing.asked(scope["method"], path, query, headers)
        if isinstance(asked, Response):
            return asked
        found, verb = asked.target, asked.verb
        measured.labels = asked.labels
        if found.kind.deprecation:
            self._note_deprecation(found, warnings, passage)
        accept = accept_of(headers) if found.subresource not in CONNECTS else ""  # somebody else answers there
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
                sends = send if self._late_watches is None else self._late_watches.sends(send)
                await watch.watch(call, options, events, receive, sends, self._times.min_watch_seconds)
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
            return await self._deadlines.within(asked.seconds, serve())

    def _note_deprecation(self, target: Target, warnings: Warnings, passage: Passage | None) -> None:
        resource = target.kind.resource
        warnings.add(target.kind.deprecation)
        self._requests.deprecated(resource.group, resource.version, resource.plural, target.subresource)
        if passage is not None:
            passage.annotate("k8s.io/deprecated", "true")

    async def _carry_out(self, verb: str, call: Call) -> Response | Relayed:
        if self._subresources.handles(call):
            return await self._subresources.carry_out(call)
        if verb == "list":
            return await list.list_objects(call, ListOptions.parse(call.query))
        return await _HANDLERS[verb](call)


_NO_BODY = Body(b"", "")
