"""The OpenAPI documents, as kubectl and client generators read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson

from apiserver.schema.definitions import Schema
from apiserver.schema.openapi import OpenApi, ServedKind, ServedSubresource
from kubeloop.apimachinery.protobuf_wire import read_message

INT_OR_STRING = "x-kubernetes-int-or-string"
READ_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
PODS = ServedKind(
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    is_namespaced=True,
    verbs=READ_WRITE,
    returns_object_on_delete=True,
    subresources=(
        ServedSubresource("status", "Pod", ("get", "patch", "update"), "", "v1"),
        ServedSubresource("eviction", "Eviction", ("create",), "policy", "v1"),
        ServedSubresource("exec", "PodExecOptions", ("create", "get"), "", "v1"),
        ServedSubresource("log", "Pod", ("get",), "", "v1"),
        ServedSubresource("proxy", "PodProxyOptions", ("create", "delete", "get", "patch", "update"), "", "v1"),
    ),
)
NODES = ServedKind(group="", version="v1", kind="Node", plural="nodes", is_namespaced=False, verbs=READ_WRITE)
DEPLOYMENTS = ServedKind(
    group="apps", version="v1", kind="Deployment", plural="deployments", is_namespaced=True, verbs=READ_WRITE
)
WIDGETS = ServedKind(
    group="example.com",
    version="v1",
    kind="Widget",
    plural="widgets",
    is_namespaced=True,
    verbs=READ_WRITE,
    schema={"type": "object", "properties": {"spec": {"type": "object"}}},
    list_kind="WidgetList",
)
DOCUMENTS = OpenApi(Schema.load(), (PODS, NODES, DEPLOYMENTS, WIDGETS), "v1.36.0")


def v3(path: str) -> Any:
    document = DOCUMENTS.v3(path)
    assert document is not None
    return orjson.loads(document)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref" and isinstance(item, str):
                yield item
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_the_index_leads_to_one_document_a_group_version() -> None:
    """Each URL carries the hash that is the document's ETag, so it changes when the document does."""
    paths = orjson.loads(DOCUMENTS.index())["paths"]

    roots = ["api", "apis", "apis/apps", "version"]
    assert sorted(["api/v1", "apis/apps/v1", "apis/example.com/v1", *roots]) == list(paths)
    expected = f"/openapi/v3/apis/apps/v1?hash={DOCUMENTS.etag('apis/apps/v1')}"
    assert expected == paths["apis/apps/v1"]["serverRelativeURL"]


def test_roots_have_documents_of_their_own() -> None:
    """Discovery and the version: one path each, and the schemas of its answer. Custom groups have none."""
    document = v3("apis/apps")

    operation = document["paths"]["/apis/apps/"]["get"]
    assert ("getAppsAPIGroup", ["apps"]) == (operation["operationId"], operation["tags"])
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= known
    assert ["/version/"] == list(v3("version")["paths"])
    assert DOCUMENTS.v3("apis/example.com") is None
    assert {"/api/", "/apis/", "/apis/apps/", "/version/"} <= set(orjson.loads(DOCUMENTS.v2())["paths"])


def test_built_in_kinds_can_be_watched_the_old_way() -> None:
    """Under /watch/, everywhere, in a namespace and one by name; custom kinds are not."""
    paths = v3("api/v1")["paths"]
    of_pods = {path: item["get"]["operationId"] for path, item in paths.items() if path.startswith("/api/v1/watch/")}

    assert {
        "/api/v1/watch/pods": "watchCoreV1PodListForAllNamespaces",
        "/api/v1/watch/namespaces/{namespace}/pods": "watchCoreV1NamespacedPodList",
        "/api/v1/watch/namespaces/{namespace}/pods/{name}": "watchCoreV1NamespacedPod",
        "/api/v1/watch/nodes": "watchCoreV1NodeList",
        "/api/v1/watch/nodes/{name}": "watchCoreV1Node",
    } == of_pods
    assert not [path for path in v3("apis/example.com/v1")["paths"] if "/watch/" in path]


def test_the_hash_tells_one_set_of_kinds_from_another() -> None:
    """A group version with another kind in it has another hash; nothing has none."""
    fewer = OpenApi(Schema.load(), (PODS,), "v1.36.0")

    assert DOCUMENTS.etag("api/v1") != fewer.etag("api/v1")
    assert ("", None) == (fewer.etag("apis/apps/v1"), fewer.v3("apis/apps/v1"))


def test_all_references_lead_somewhere() -> None:
    """Every schema a document refers to is in it."""
    for path in ("api/v1", "apis/apps/v1", "apis/example.com/v1"):
        document = v3(path)
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert set() == set(references(document)) - known


def test_a_patch_says_its_kind_and_that_fields_can_be_validated() -> None:
    """kubectl asks the server to validate only if the PATCH of a kind takes fieldValidation."""
    patch = v3("apis/apps/v1")["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]

    assert {"group": "apps", "version": "v1", "kind": "Deployment"} == patch["x-kubernetes-group-version-kind"]
    names = [parameter["name"] for parameter in patch["parameters"]]
    assert ["dryRun", "fieldManager", "fieldValidation", "force"] == names
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


def test_what_a_deletion_answers() -> None:
    """Pods and some others come back whole, the rest as a Status."""
    paths = v3("api/v1")["paths"]

    def answer(path: str) -> str:
        content = paths[path]["delete"]["responses"]["200"]["content"]["application/json"]
        return str(content["schema"]["$ref"]).rpartition(".")[2]

    assert "Pod" == answer("/api/v1/namespaces/{namespace}/pods/{name}")
    assert "Status" == answer("/api/v1/nodes/{name}")


def test_paths_follow_scope_and_verbs() -> None:
    """Namespaced kinds are listed everywhere and created in a namespace; subresources have their own kind."""
    paths = v3("api/v1")["paths"]

    assert {"get", "parameters"} == set(paths["/api/v1/pods"])
    assert {"get", "post", "delete", "parameters"} == set(paths["/api/v1/namespaces/{namespace}/pods"])
    assert {"get", "post", "delete", "parameters"} == set(paths["/api/v1/nodes"])
    eviction = paths["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"]
    assert "createCoreV1NamespacedPodEviction" == eviction["operationId"]
    assert "Eviction" == eviction["x-kubernetes-group-version-kind"]["kind"]


def test_schemas_are_published_the_usual_way() -> None:
    """Types are single, enums stand at their fields, references are wrapped, the validators' form is gone."""
    schemas = v3("api/v1")["components"]["schemas"]

    container = schemas["io.k8s.api.core.v1.Container"]
    pod = schemas["io.k8s.api.core.v1.Pod"]
    assert ["Always", "IfNotPresent", "Never"] == container["properties"]["imagePullPolicy"]["enum"]
    resources = container["properties"]["resources"]
    assert [{"$ref": "#/components/schemas/io.k8s.api.core.v1.ResourceRequirements"}] == resources["allOf"]
    assert ("object", "string") == (pod["type"], pod["properties"]["kind"]["type"])
    assert not {"enum"} & set(pod["properties"]["kind"])
    assert "additionalProperties" not in pod
    assert [{"group": "", "kind": "Pod", "version": "v1"}] == pod["x-kubernetes-group-version-kind"]
    assert [{"type": "string"}, {"type": "number"}] == schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]["oneOf"]


def test_custom_resources_bring_their_own_schema() -> None:
    """A custom resource's document has its schema and takes no strategic merge patch."""
    document = v3("apis/example.com/v1")

    assert "spec" in document["components"]["schemas"]["com.example.v1.Widget"]["properties"]
    patch = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]


def custom(schema: dict[str, Any]) -> tuple[Any, Any]:
    """The spec of a custom kind with that schema for it, in version 3 and in version 2."""
    kind = replace(WIDGETS, schema={"type": "object", "properties": {"spec": schema}}, list_kind="Widgets")
    documents = OpenApi(Schema.load(), (kind,), "v1.36.0")
    three, two = orjson.loads(documents.v3("apis/example.com/v1") or b""), orjson.loads(documents.v2())
    name = "com.example.v1.Widget"
    assert "Widgets is a list of Widget" == two["definitions"]["com.example.v1.Widgets"]["description"]
    return three["components"]["schemas"][name]["properties"]["spec"], two["definitions"][name]["properties"]["spec"]


def test_version_2_says_less_of_custom_resources() -> None:
    """Null, anything and alternatives have no word there: kubectl would refuse what it could not express."""
    nullable = {"type": "object", "nullable": True, "properties": {"a": {"type": "string"}}}
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    both = {"type": "object", "required": ["a", "b"], "properties": {"a": nullable, "b": {"type": "string"}}}

    assert ({"anyOf": [{"type": "integer"}, {"type": "string"}], INT_OR_STRING: True}, {INT_OR_STRING: True}) == (
        custom({INT_OR_STRING: True})
    )
    assert (nullable, {}) == custom(nullable)
    assert (anything, {"x-kubernetes-preserve-unknown-fields": True}) == custom(anything)
    assert ["b"] == custom(both)[1]["required"]


def test_embedded_objects_have_kind_and_metadata() -> None:
    """Of which the first two are required."""
    three, two = custom({"type": "object", "x-kubernetes-embedded-resource": True})

    assert {"apiVersion", "kind", "metadata"} == set(three["properties"]) == set(two["properties"])
    assert ["kind", "apiVersion"] == three["required"] == two["required"]


def test_what_is_always_written_has_a_default() -> None:
    """The zero of its type, {} for structs; nothing for times, bytes and pointers, as Go leaves them out."""
    schemas = v3("api/v1")["components"]["schemas"]

    def default(struct: str, name: str) -> Any:
        return schemas[f"io.k8s.api.core.v1.{struct}"]["properties"][name].get("default")

    assert ("", 0, False, {}) == (
        default("Container", "name"),
        default("ContainerPort", "containerPort"),
        default("ContainerStatus", "ready"),
        default("Pod", "spec"),
    )
    assert (None, None) == (default("PodStatus", "startTime"), default("ContainerStateRunning", "startedAt"))


def test_a_reference_alone_is_not_wrapped() -> None:
    """allOf is for what stands beside it."""
    items = v3("api/v1")["components"]["schemas"]["io.k8s.api.core.v1.PodList"]["properties"]["items"]

    assert {"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"} == items["items"]


def test_options_belong_to_the_document() -> None:
    """DeleteOptions are of the core and of the document's own group version."""
    options = v3("apis/apps/v1")["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]

    marks = [mark["group"] for mark in options["x-kubernetes-group-version-kind"]]
    assert ["", "apps"] == marks


def test_version_2_has_everything_in_one_document() -> None:
    """Bodies are parameters, references lead to definitions, media types stand beside the operation."""
    document = orjson.loads(DOCUMENTS.v2())

    post = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["post"]
    body = next(parameter for parameter in post["parameters"] if parameter["in"] == "body")
    assert {"$ref": "#/definitions/io.k8s.api.apps.v1.Deployment"} == body["schema"]
    assert "application/json" in post["produces"]
    known = {f"#/definitions/{name}" for name in document["definitions"]}
    assert set() == set(references(document)) - known


def test_version_2_as_protobuf_has_the_same_definitions() -> None:
    """The message holds every definition by name (fields 9 and 1 of gnostic's Document and Definitions)."""
    names = list(orjson.loads(DOCUMENTS.v2())["definitions"])

    document = read_message(DOCUMENTS.v2_protobuf())
    definitions = [read_message(entry) for entry in read_message(document[9][0])[1]]

    assert (b"2.0", names) == (document[1][0], [entry[1][0].decode() for entry in definitions])
    properties = read_message(read_message(definitions[names.index("io.k8s.api.core.v1.Pod")][2][0])[25][0])[1]
    assert {b"apiVersion", b"kind", b"metadata", b"spec", b"status"} == {read_message(p)[1][0] for p in properties}


def test_parameters_that_all_operations_of_a_path_have_stand_beside_them() -> None:
    """As upstream's documents have it; deletions of collections select and do not watch."""
    paths = v3("api/v1")["paths"]
    everywhere = paths["/api/v1/pods"]
    collection = paths["/api/v1/namespaces/{namespace}/pods"]

    def names(about: Any) -> set[str]:
        return {parameter["name"] for parameter in about["parameters"]}

    assert "parameters" not in everywhere["get"]
    assert {"watch", "shardSelector", "pretty"} <= names(everywhere)
    assert {"watch", "allowWatchBookmarks"} <= names(collection["get"])
    assert not {"watch", "allowWatchBookmarks"} & names(collection["delete"])


def test_ways_through_to_a_pod_have_parameters_of_their_own() -> None:
    """A proxy takes every method, with and without a path; a log is text."""
    pod = "/api/v1/namespaces/{namespace}/pods/{name}"
    paths = v3("api/v1")["paths"]

    assert {"head", "options"} <= set(paths[f"{pod}/proxy/{{path}}"])
    assert "connectCoreV1HeadNamespacedPodProxyWithPath" == paths[f"{pod}/proxy/{{path}}"]["head"]["operationId"]
    assert ["command", "container", "stderr", "stdin", "stdout", "tty"] == [
        parameter["name"] for parameter in paths[f"{pod}/exec"]["parameters"] if parameter["in"] == "query"
    ]
    assert "text/plain" in paths[f"{pod}/log"]["get"]["responses"]["200"]["content"]


def test_defaults_are_named_in_version_3_only() -> None:
    """Those of embedded structs too."""
    of_three = v3("api/v1")["components"]["schemas"]["io.k8s.api.core.v1.ConfigMapKeySelector"]["properties"]
    of_two = orjson.loads(DOCUMENTS.v2())["definitions"]["io.k8s.api.core.v1.ConfigMapKeySelector"]["properties"]

    assert ("", None) == (of_three["name"].get("default"), of_two["name"].get("default"))
