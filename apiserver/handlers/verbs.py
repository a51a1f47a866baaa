"""Which Kubernetes verb an HTTP method is on a target, and how methods are refused that are none.

Built-in kinds have routes, and a method without one is refused by the router. Custom kinds have none: whatever comes
is taken for a verb first (apiextensions-apiserver/pkg/apiserver/customresource_handler.go, v1.36).
"""

from __future__ import annotations

from apiserver.handlers.request import Target
from apiserver.registry.options import Query, parse_bool
from kubeloop.apimachinery.errors import BadRequest, MethodNotAllowed

# HTTP method -> Kubernetes verb, on a collection and on an object.
_COLLECTION_VERBS = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT_VERBS = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_NAMED = ("update", "patch")


def verb_of(method: str, target: Target, query: Query) -> str:
    """The Kubernetes verb; MethodNotAllowed where the resource does not have it."""
    return _custom_verb(method, target, query) if target.kind.is_custom else _built_in_verb(method, target, query)


def leads_nowhere(method: str, target: Target) -> bool:
    """Whether a request for namespaced custom resources names no namespace and is no list."""
    return target.kind.resource.namespaced and not target.namespace and method not in ("GET", "HEAD")


def not_allowed() -> MethodNotAllowed:
    return MethodNotAllowed("the server does not allow this method on the requested resource", details={})


def _built_in_verb(method: str, target: Target, query: Query) -> str:
    verb = (_OBJECT_VERBS if target.name else _COLLECTION_VERBS).get(method)
    if method == "HEAD":
        if target.subresource != "proxy":
            raise not_allowed()
        verb = "get"
    if target.subresource:
        declared = target.kind.subresource(target.subresource)
        allowed = declared.verbs if declared else ()
    else:
        allowed = target.kind.verbs
        if verb == "create" and target.name:
            verb = None
    if verb is None or verb not in allowed:
        raise not_allowed()
    if target.kind.resource.namespaced and not (target.namespace or verb == "list" or target.name):
        raise not_allowed()  # writes on a namespaced collection need their namespace
    if target.is_watch and verb not in ("get", "list"):
        raise not_allowed()
    if target.is_watch or (verb == "list" and parse_bool(query, "watch")):
        if "watch" not in allowed:
            raise _not_supported("watch", target)  # ComponentStatus can be listed only
        return "watch"
    return verb


def _custom_verb(method: str, target: Target, query: Query) -> str:
    """A POST creates what its body names, whatever object its path names."""
    verb = (_OBJECT_VERBS if target.name else {**_OBJECT_VERBS, **_COLLECTION_VERBS}).get(method, "")
    declared = target.kind.subresource(target.subresource)
    if verb not in (declared.verbs if declared else target.kind.verbs):
        raise _not_supported(verb, target)
    if verb in _NAMED and not target.name:
        raise BadRequest("name must be provided")
    return "watch" if target.is_watch or (verb == "list" and parse_bool(query, "watch")) else verb


def _not_supported(verb: str, target: Target) -> MethodNotAllowed:
    kind = target.kind
    qualified = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    details = {"group": kind.group, "kind": kind.plural} if kind.group else {"kind": kind.plural}
    return MethodNotAllowed(f'{verb} is not supported on resources of kind "{qualified}"', details=details)
