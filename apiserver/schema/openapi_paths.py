"""The paths of the OpenAPI documents: one operation for each verb of each served kind.

Written once in the terms of OpenAPI v3; `as_v2` restates an operation for the older document. What kubectl reads here
is the kind behind a path (`x-kubernetes-group-version-kind`) and which query parameters a PATCH takes. `openapi` calls
it with the kinds that are served, which the registry knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apiserver.schema.openapi_parameters import (
    FORCE,
    OF_COLLECTION_DELETIONS,
    OF_DELETIONS,
    OF_LISTS,
    OF_SUBRESOURCES,
    OF_WRITES,
    PRETTY,
    path_parameters,
)

Operation = dict[str, Any]

COMPONENTS = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
MEDIA_TYPES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_WATCH_MEDIA_TYPES = (
    *MEDIA_TYPES,
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
)
# Subresources that are no objects but a way through to the node or the pod.
_CONNECTIONS = frozenset({"attach", "exec", "portforward", "proxy"})
_CONNECT_METHODS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
_PATCH_MEDIA_TYPES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)


@dataclass(frozen=True, slots=True)
class ServedSubresource:
    """A subresource of a served kind: the kind its bodies are of, and its verbs (get, create, update, patch)."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str
    version: str


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A kind with paths of its own.

    `schema` is the OpenAPI schema of a custom resource's version; None for the kinds of the shipped definitions.
    """

    group: str
    version: str
    kind: str
    plural: str
    is_namespaced: bool
    verbs: tuple[str, ...]
    subresources: Sequence[ServedSubresource] = field(default=())
    schema: Mapping[str, Any] | None = None
    list_kind: str = ""  # where it is not the kind's name and "List"
    returns_object_on_delete: bool = False
    selectable: tuple[str, ...] = ()  # `spec.color`: fields of a custom resource that lists can be selected by

    @property
    def list_name(self) -> str:
        return self.list_kind or f"{self.kind}List"

    @property
    def group_version_path(self) -> str:
        """`api/v1`, `apis/apps/v1`: how the OpenAPI index names the document."""
        return f"apis/{self.group}/{self.version}" if self.group else f"api/{self.version}"


@dataclass(frozen=True, slots=True)
class _Target:
    """What an operation is about; `component` and `list_component` name schemas of the document."""

    served: ServedKind
    group: str
    version: str
    kind: str
    component: str
    list_component: str
    has_namespace: bool
    subresource: str = ""

    def operation_id(self, verb: tuple[str, str], suffix: str = "") -> str:
        group = group_in_id(self.served.group)
        where = "Namespaced" if self.has_namespace else ""
        subresource = "".join(word.capitalize() for word in self.subresource.split("/"))
        return (
            f"{verb[0]}{group}{self.served.version.capitalize()}{verb[1]}{where}{self.served.kind}{subresource}{suffix}"
        )


_NOTHING_MORE: Mapping[str, str] = {}


def paths_of(served: ServedKind, component_of: Mapping[tuple[str, str, str], str]) -> Iterator[tuple[str, Operation]]:
    """The path items of one kind; `component_of` finds the schema name of a kind (with the kind's `…List` too)."""
    collection = f"/{served.group_version_path}/{served.plural}"
    target = _target(served, served.group, served.version, served.kind, component_of)
    if served.is_namespaced:
        namespaced = f"/{served.group_version_path}/namespaces/{{namespace}}/{served.plural}"
        if "list" in served.verbs:
            everywhere = _target(served, served.group, served.version, served.kind, component_of, everywhere=True)
            yield collection, _path_item({"get": _list(everywhere, "ForAllNamespaces")})
        collection = namespaced
    names = ("namespace",) if served.is_namespaced else ()
    if item := dict(_collection_operations(target)):
        yield collection, _path_item(item, *names)
    if item := dict(_object_operations(target, served.verbs)):
        yield f"{collection}/{{name}}", _path_item(item, "name", *names)
    if "watch" in served.verbs and served.schema is None:
        yield from _watch_paths(served, target)
    for sub in served.subresources:
        below = _target(served, sub.group, sub.version, sub.kind, component_of, subresource=sub.name)
        path = f"{collection}/{{name}}/{sub.name}"
        if sub.name in _CONNECTIONS:
            yield path, _connection(below, sub.verbs, "", "name", *names)
            if sub.name == "proxy":
                yield f"{path}/{{path}}", _connection(below, sub.verbs, "WithPath", "name", *names, "path")
        elif item := dict(_object_operations(below, sub.verbs)):
            yield path, _path_item(item, "name", *names)


def _watch_paths(served: ServedKind, target: _Target) -> Iterator[tuple[str, Operation]]:
    """The paths of old under /watch/; custom kinds came after them."""
    above = f"/{served.group_version_path}/watch"
    collection = f"{above}/{served.plural}"
    names: tuple[str, ...] = ()
    if served.is_namespaced:
        everywhere = replace(target, has_namespace=False)
        yield collection, _watch(everywhere, "watchlist", "ListForAllNamespaces")
        collection, names = f"{above}/namespaces/{{namespace}}/{served.plural}", ("namespace",)
    yield collection, _watch(target, "watchlist", "List", *names)
    yield f"{collection}/{{name}}", _watch(target, "watch", "", "name", *names)


def _watch(target: _Target, action: str, suffix: str, *names: str) -> Operation:
    operation = _operation(target, ("watch", ""), action, f"{META}.WatchEvent", _WATCH_MEDIA_TYPES, suffix)
    description = f"watch {target.served.kind}. deprecated: use the 'watch' parameter with a list operation instead."
    return _path_item({"get": {**operation, "description": description, "parameters": list(OF_LISTS)}}, *names)


def _path_item(operations: Mapping[str, Operation], *names: str) -> Operation:
    """The operations of one path. Parameters that all of them have stand beside them, as those in the path do."""
    first, *others = [operation.get("parameters", []) for operation in operations.values()]
    shared = [parameter for parameter in first if all(parameter in other for other in others)]
    item: Operation = {}
    for method, operation in operations.items():
        own = [parameter for parameter in operation.get("parameters", ()) if parameter not in shared]
        rest = {key: value for key, value in operation.items() if key != "parameters"}
        item[method] = {**rest, "parameters": own} if own else rest
    return {**item, "parameters": [*shared, *path_parameters(*names), PRETTY]}


def _connection(target: _Target, verbs: Sequence[str], suffix: str, *names: str) -> Operation:
    """A way through: its answer is whatever comes back, and it has parameters of its own."""
    methods = [_CONNECT_METHODS[verb] for verb in verbs]
    if target.subresource == "proxy":
        methods += ["head", "options"]
    parameters = [*OF_SUBRESOURCES[target.subresource], *path_parameters(*names)]
    return {**{method: _connect(target, method, suffix) for method in methods}, "parameters": parameters}


def _target(
    served: ServedKind,
    group: str,
    version: str,
    kind: str,
    component_of: Mapping[tuple[str, str, str], str],
    *,
    subresource: str = "",
    everywhere: bool = False,
) -> _Target:
    component = component_of.get((group, version, kind), "")
    return _Target(
        served=served,
        group=group,
        version=version,
        kind=kind,
        component=component,
        list_component=component_of.get((group, version, served.list_name), component),
        has_namespace=served.is_namespaced and not everywhere,
        subresource=subresource,
    )


def _collection_operations(target: _Target) -> Iterator[tuple[str, Operation]]:
    verbs = target.served.verbs
    if "list" in verbs:
        yield "get", _list(target)
    if "create" in verbs:
        yield "post", _write(target, ("create", ""), "post")
    if "deletecollection" in verbs:
        operation = _operation(target, ("delete", "Collection"), "deletecollection", f"{META}.Status")
        yield "delete", {**operation, "parameters": list(OF_COLLECTION_DELETIONS), "requestBody": _delete_options()}


def _object_operations(target: _Target, verbs: Sequence[str]) -> Iterator[tuple[str, Operation]]:
    if target.subresource == "log":
        yield "get", _log(target)
    elif "get" in verbs:
        yield "get", _operation(target, ("read", ""), "get", target.component)
    if "update" in verbs:
        yield "put", _write(target, ("replace", ""), "put")
    if "create" in verbs and target.subresource:
        yield "post", _write(target, ("create", ""), "post")
    if "patch" in verbs:
        yield "patch", _patch(target)
    if "delete" in verbs:
        answer = target.component if target.served.returns_object_on_delete else f"{META}.Status"
        operation = _operation(target, ("delete", ""), "delete", answer, more={"202": "Accepted"})
        yield "delete", {**operation, "parameters": list(OF_DELETIONS), "requestBody": _delete_options()}


def _list(target: _Target, suffix: str = "") -> Operation:
    operation = _operation(target, ("list", ""), "list", target.list_component, _WATCH_MEDIA_TYPES, suffix)
    return {**operation, "parameters": list(OF_LISTS)}


def _write(target: _Target, verb: tuple[str, str], action: str) -> Operation:
    more = {"201": "Created", "202": "Accepted"} if action == "post" else {"201": "Created"}
    operation = _operation(target, verb, action, target.component, more=more)
    body = {"content": {"*/*": {"schema": ref(target.component)}}, "required": True}
    return {**operation, "parameters": list(OF_WRITES), "requestBody": body}


def _patch(target: _Target) -> Operation:
    operation = _operation(target, ("patch", ""), "patch", target.component, more={"201": "Created"})
    types = _PATCH_MEDIA_TYPES[:3] if target.served.schema is not None else _PATCH_MEDIA_TYPES
    body = {"content": {media_type: {"schema": ref(f"{META}.Patch")} for media_type in types}, "required": True}
    return {**operation, "parameters": [*OF_WRITES, FORCE], "requestBody": body}


def _operation(
    target: _Target,
    verb: tuple[str, str],
    action: str,
    component: str,
    media_types: Sequence[str] = MEDIA_TYPES,
    suffix: str = "",
    more: Mapping[str, str] = _NOTHING_MORE,
) -> Operation:
    """`more`: other answers of the same schema, by status."""
    served = target.served
    what = f"{target.subresource} of the specified {served.kind}" if target.subresource else served.kind
    answer = {"content": {media_type: {"schema": ref(component)} for media_type in media_types}} if component else {}
    return {
        "tags": [f"{tag_of(served.group)}_{served.version}"],
        "description": f"{action} {what}",
        "operationId": target.operation_id(verb, suffix),
        "responses": {
            "200": {"description": "OK", **answer},
            **{code: {"description": text, **answer} for code, text in more.items()},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": target.group, "version": target.version, "kind": target.kind},
    }


def _log(target: _Target) -> Operation:
    """Text, whatever is accepted."""
    operation = _operation(target, ("read", ""), "get", "")
    content = {media_type: {"schema": {"type": "string"}} for media_type in ("text/plain", *MEDIA_TYPES)}
    answers = {**operation["responses"], "200": {"description": "OK", "content": content}}
    return {**operation, "responses": answers, "parameters": list(OF_SUBRESOURCES["log"])}


def _connect(target: _Target, method: str, suffix: str) -> Operation:
    """A request that is passed on: its answer is whatever comes back."""
    operation = _operation(target, ("connect", ""), "connect", "")
    title = method.capitalize()
    group, version = group_in_id(target.served.group), target.served.version.capitalize()
    where = "Namespaced" if target.has_namespace else ""
    name = f"connect{group}{version}{title}{where}{target.served.kind}{target.subresource.capitalize()}{suffix}"
    answer = {"description": "OK", "content": {"*/*": {"schema": {"type": "string"}}}}
    return {
        **operation,
        "description": f"connect {method.upper()} requests to {target.subresource} of {target.served.kind}",
        "operationId": name,
        "responses": {"200": answer, "401": {"description": "Unauthorized"}},
    }


def _delete_options() -> Operation:
    return {"content": {"*/*": {"schema": ref(f"{META}.DeleteOptions")}}}


def ref(component: str) -> dict[str, str]:
    return {"$ref": COMPONENTS + component} if component else {}


def group_in_id(group: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in _short_group(group).split("."))


def _short_group(group: str) -> str:
    return group.removesuffix(".k8s.io") or "core"


def tag_of(group: str) -> str:
    first, *rest = _short_group(group).split(".")
    return first + "".join(word.capitalize() for word in rest)


def as_v2(item: Operation) -> Operation:
    """A path item in the terms of OpenAPI v2: bodies are parameters, media types stand beside the operation."""
    restated: Operation = {}
    for key, value in item.items():
        restated[key] = [_parameter_v2(p) for p in value] if key == "parameters" else _operation_v2(value)
    return restated


def _operation_v2(operation: Operation) -> Operation:
    restated = {key: value for key, value in operation.items() if key not in ("requestBody", "responses", "parameters")}
    parameters = [_parameter_v2(parameter) for parameter in operation.get("parameters", ())]
    body = operation.get("requestBody", {}).get("content", {})
    if body:
        schema = _ref_v2(next(iter(body.values()))["schema"])
        required = {"required": True} if operation["requestBody"].get("required") else {}
        parameters.append({"name": "body", "in": "body", **required, "schema": schema})
    answers: Operation = {}
    for code, answer in operation["responses"].items():
        content = answer.get("content", {})
        answers[code] = {"description": answer["description"]}
        if content:
            answers[code]["schema"] = _ref_v2(next(iter(content.values()))["schema"])
        restated.setdefault("produces", list(content))
    if parameters:
        restated["parameters"] = parameters
    read = ["*/*"] if "x-kubernetes-action" in operation else restated["produces"]  # documents state what they are
    return {**restated, "consumes": list(body) or read, "schemes": ["https"], "responses": answers}


def _parameter_v2(parameter: Operation) -> Operation:
    return {key: value for key, value in parameter.items() if key != "schema"} | parameter["schema"]


def _ref_v2(schema: Mapping[str, str]) -> dict[str, str]:
    return {key: value.replace(COMPONENTS, "#/definitions/") for key, value in schema.items()}
