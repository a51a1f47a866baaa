"""Endpoints that are no plain object: bindings, evictions, tokens, reviews, and what only a kubelet can answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count

from apiserver.admission.chain import CONNECT, CREATE
from apiserver.auth import reviews
from apiserver.auth.authentication import Authenticator
from apiserver.auth.authorization import Access, Authorizer, require
from apiserver.auth.tokens.claims import credential_id
from apiserver.auth.tokens.requests import TokenRequests
from apiserver.handlers.call import Call
from apiserver.handlers.connect_options import connect_options, port_query, stream_query
from apiserver.handlers.encoding import write
from apiserver.handlers.kubelet_calls import (
    Named,
    check_connection,
    check_container,
    check_log_options,
    no_endpoints,
    service_addresses,
)
from apiserver.handlers.kubelets import Kubelets, Relayed
from apiserver.handlers.matching import match_namespace
from apiserver.handlers.response import TEXT, Response, success
from apiserver.registry.options import WriteOptions, first
from apiserver.schema.type_meta import GroupVersionKind
from kubeloop.apimachinery.errors import BadRequest, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject

Endpoint = Callable[[Call], Awaitable[Response | Relayed]]

_BINDING = GroupVersionKind("", "v1", "Binding")
_EVICTION = GroupVersionKind("policy", "v1", "Eviction")
_OLD_EVICTION = GroupVersionKind("policy", "v1beta1", "Eviction")  # clients of clusters that had no other
_TOKEN_REQUEST = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")
_REVIEW_GROUPS = ("authentication.k8s.io", "authorization.k8s.io")
_OF_KUBELET = ("attach", "exec", "portforward", "proxy")
_KUBELET_PATHS = {"attach": "attach", "exec": "exec", "portforward": "portForward"}
_STREAM_QUERIES = {"attach": stream_query, "exec": stream_query, "portforward": port_query}


class SubresourceHandler:
    """Finds the endpoint of a call that is not get, update or patch of an object or its status."""

    def __init__(
        self, authenticator: Authenticator, authorizer: Authorizer, token_requests: TokenRequests, kubelets: Kubelets
    ) -> None:
        self._authenticator, self._authorizer = authenticator, authorizer
        self._token_requests, self._kubelets = token_requests, kubelets
        self._turns = count()
        self._endpoints: dict[tuple[str, str], Endpoint] = {
            ("bindings", ""): self._bind,
            ("pods", "binding"): self._bind,
            ("pods", "eviction"): self._evict,
            ("pods", "log"): self._log,
            ("serviceaccounts", "token"): self._token,
            **{(plural, name): self._connect for plural in ("pods", "nodes", "services") for name in _OF_KUBELET},
        }

    def handles(self, call: Call) -> bool:
        target = call.target
        return (target.kind.plural, target.subresource) in self._endpoints or target.kind.group in _REVIEW_GROUPS

    async def carry_out(self, call: Call) -> Response | Relayed:
        if call.target.kind.group in _REVIEW_GROUPS:
            return await self._review(call)
        return await self._endpoints[(call.target.kind.plural, call.target.subresource)](call)

    async def _bind(self, call: Call) -> Response:
        options = WriteOptions.parse("CreateOptions", call.query)
        binding = call.decoder.read_other(_BINDING, call.body, options.field_validation, call.warnings)
        match_namespace(binding, call.target.namespace)
        call.note(binding)
        context = call.context(options)
        if not context.name:  # the old way, by POST to bindings
            context = replace(context, name=binding.get("metadata", {}).get("name", ""))
        await call.registry.bindings().create(binding, context, call.target.kind.resource)
        return success(code=201)

    async def _evict(self, call: Call) -> Response:
        options = WriteOptions.parse("CreateOptions", call.query)
        validation = options.field_validation
        eviction = call.decoder.read_other(_EVICTION, call.body, validation, call.warnings, (_OLD_EVICTION,))
        match_namespace(eviction, call.target.namespace)
        call.note(eviction)
        await call.registry.evictions().create(eviction, call.context(options))
        return success(code=201)

    async def _review(self, call: Call) -> Response:
        options = WriteOptions.parse("CreateOptions", call.query)
        resource = call.target.kind.resource
        of = GroupVersionKind(resource.group, resource.version, resource.kind)
        obj = call.decoder.read_other(of, call.body, options.field_validation, call.warnings)
        obj.update({"kind": resource.kind, "apiVersion": resource.api_version})
        call.note(obj)
        reviews.prepare(obj, call.target.namespace)
        context = call.context(options)
        await call.registry.store(call.target.kind).field_management.created(obj, context.field_manager)
        chain, attributes = call.registry.machinery.admission, context.attributes(CREATE, resource, obj)
        await chain.mutate(attributes)
        obj = {**(attributes.object or obj), "kind": resource.kind, "apiVersion": resource.api_version}
        reviewers = reviews.Reviewers(self._authenticator, self._authorizer, call.now())
        reviewed = reviews.review(resource.kind, obj, call.user, reviewers, call.target.namespace)
        await chain.validate(attributes)
        return Response(201, write(reviewed, call.form), call.form.media_type)

    async def _log(self, call: Call) -> Response | Relayed:
        check_log_options(call.query, call.target.name)
        pod = await self._pod(call)
        container = check_container(pod, first(call.query, "container"))
        if not pod["spec"].get("nodeName"):
            return Response(204, b"", TEXT)
        node = _node_of(call, pod)
        return self._kubelets.log(call, pod, node, container)

    async def _connect(self, call: Call) -> Response | Relayed:
        target, what = call.target, call.target.subresource
        singular = target.kind.resource.kind.lower()
        named = check_connection(call.query, singular, target.name, what)
        attributes = call.context().attributes(CONNECT, target.kind.resource, connect_options(call))
        await call.registry.machinery.admission.mutate(attributes)
        await call.registry.machinery.admission.validate(attributes)
        options = attributes.object or {}  # what admission has made of them
        obj = (await call.registry.store(target.kind).get(replace(call.context(), name=named.name))).object()
        if what != "proxy":
            return self._stream(call, obj, options)
        if singular == "node":
            return self._proxy_to_node(call, obj, named)
        if singular == "service":
            return await self._proxy_to_service(call, obj, named)
        return self._proxy_to_pod(call, obj, named.scheme, named.port or _first_port(obj))

    def _stream(self, call: Call, pod: Object, options: Object) -> Relayed:
        """Exec, attach and port-forward."""
        target, what, container = call.target, call.target.subresource, ""
        self._require_create(call)
        if what != "portforward":
            container = check_container(pod, options.get("container", ""))
        if not pod["spec"].get("nodeName"):
            raise BadRequest(f"pod {target.name} does not have a host assigned")
        path = _KUBELET_PATHS[what] + f"/{target.namespace}/{target.name}" + (f"/{container}" if container else "")
        return self._kubelets.connection(call, pod, _node_of(call, pod), path, _STREAM_QUERIES[what](options))

    def _proxy_to_pod(self, call: Call, pod: ReadOnlyObject, scheme: str, port: str) -> Relayed:
        if not (pod.get("status") or {}).get("podIP"):
            raise BadRequest("address not allowed")
        node = call.registry.machinery.reader.get("nodes", "", pod["spec"].get("nodeName") or "")
        return self._kubelets.of_pod(call, pod, node, scheme, port)

    async def _proxy_to_service(self, call: Call, service: Object, named: Named) -> Relayed:
        """One of its ready pods, each in its turn."""
        reader, target = call.registry.machinery.reader, call.target
        endpoints = reader.get("endpoints", target.namespace, named.name)
        found = list(service_addresses(target.name, service, endpoints))
        turn = next(self._turns)
        for i in range(len(found)):
            address = found[(turn + i) % len(found)]
            pod = reader.get("pods", target.namespace, address.pod)
            if pod is not None and address.ip == (pod.get("status") or {}).get("podIP"):
                return self._proxy_to_pod(call, pod, named.scheme, str(address.port))
        raise no_endpoints(target.name)

    def _proxy_to_node(self, call: Call, node: Object, named: Named) -> Relayed:
        return self._kubelets.of_node(call, node, named.scheme, named.port)

    async def _token(self, call: Call) -> Response:
        options = WriteOptions.parse("CreateOptions", call.query)
        request = call.decoder.read_other(_TOKEN_REQUEST, call.body, options.field_validation, call.warnings)
        call.note(request)
        target, chain = call.target, call.registry.machinery.admission
        attributes = call.context(options).attributes(CREATE, target.kind.resource, request)
        await chain.mutate(attributes)
        request = attributes.object or request
        answer = await self._token_requests.answer(
            request, target.namespace, target.name, lambda: chain.validate(attributes)
        )
        if credential := credential_id(answer["status"]["token"]):
            call.annotate("authentication.kubernetes.io/issued-credential-id", credential)
        return Response(201, write(answer, call.form), call.form.media_type)

    def _require_create(self, call: Call) -> None:
        """WebSockets are opened by GET, and who may only read may not run anything for that."""
        target, resource = call.target, call.target.kind.resource
        plural, what = resource.plural, target.subresource
        access = Access(
            call.user, "create", resource.group, resource.version, plural, what, target.namespace, target.name
        )
        require(self._authorizer, access)

    async def _pod(self, call: Call) -> Object:
        return (await call.registry.store(call.target.kind).get(call.context())).object()


def _node_of(call: Call, pod: Object) -> ReadOnlyObject:
    """The node that is to be asked; NotFound where it is not there."""
    name = pod["spec"]["nodeName"]
    node = call.registry.machinery.reader.get("nodes", "", name)
    if node is None:
        raise NotFound.of("nodes", "", name)
    return node


def _first_port(pod: Object) -> str:
    """The first that any container declares."""
    ports = (
        container["ports"][0]["containerPort"] for container in pod["spec"]["containers"] if container.get("ports")
    )
    return str(next(ports, ""))
