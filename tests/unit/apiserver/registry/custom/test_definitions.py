"""The life of a custom kind, on a server of its own: from its definition to the deletion of its objects."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from kubeloop.apimachinery import conditions
from kubeloop.apimachinery.errors import ApiError, Invalid, NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource
from kubeloop.testing.cluster import Cluster, run_cluster
from tests.testkit.webhooks import Hooks, Review, a_webhook

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
VALIDATING = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
WIDGETS, NEW_WIDGETS = (Resource("example.com", version, "widgets", "Widget") for version in ("v1", "v2"))
NAME = "widgets.example.com"


def a_version(name: str, fields: Object, **more: Any) -> Object:
    spec = {"type": "object", "properties": fields}
    schema = {"type": "object", "properties": {"spec": spec, "status": {"type": "object", "properties": {"n": INT}}}}
    return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}, **more}


def a_definition(*versions: Object) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": list(versions),
        },
    }


def a_widget(name: str = "a", resource: Resource = WIDGETS, **spec: Any) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": resource.api_version, "kind": "Widget", "metadata": metadata, "spec": spec}


INT, TEXT = {"type": "integer"}, {"type": "string"}


async def defined(cluster: Cluster, *versions: Object) -> None:
    await cluster.create(a_definition(*versions), DEFINITIONS)

    async def is_established() -> bool:
        definition = await cluster.api.get(DEFINITIONS, NAME)
        return conditions.is_true(conditions.conditions_of(definition), "Established")

    await cluster.eventually(is_established)


def test_an_established_kind_is_served() -> None:
    """Whoever sees Established can create, default, change and read objects at once."""

    async def check(cluster: Cluster) -> Object:
        await defined(cluster, a_version("v1", {"n": INT, "t": {**TEXT, "default": "x"}}))
        widget = await cluster.create(a_widget(n=1), WIDGETS)
        await cluster.patch(widget, {"spec": {"n": 2}}, WIDGETS)
        return await cluster.read(widget, WIDGETS)

    widget = run_cluster(check)

    assert (2, {"n": 2, "t": "x"}) == (widget["metadata"]["generation"], widget["spec"])


def test_a_definition_whose_status_was_refused_is_established_later() -> None:
    """A webhook that lets no status be holds a definition up only for as long as it does."""
    refusals = 0

    def respond(request: Review) -> Review:
        nonlocal refusals
        refusals += 1
        return {"allowed": refusals > 3}

    rule = {"operations": ["UPDATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/status"]}

    async def check(cluster: Cluster) -> None:
        webhooks = {"metadata": {"name": "v"}, "webhooks": [a_webhook("v", rule)]}
        await cluster.create(webhooks, VALIDATING)
        await defined(cluster, a_version("v1", {"n": INT}))

    run_cluster(check, webhook_transports=Hooks(v=respond).transport)
    assert refusals > 3


def test_nothing_is_stored_for_a_definition_that_is_deleted_meanwhile() -> None:
    """An object whose admission takes longer than its definition lasts is not found by the next one of that name."""
    found: list[Cluster] = []

    async def respond(request: httpx.Request) -> httpx.Response:
        (cluster,) = found
        await cluster.api.delete(DEFINITIONS, NAME)

        async def is_gone() -> bool:
            try:
                await cluster.api.get(DEFINITIONS, NAME)
            except NotFound:
                return True
            return False

        await cluster.eventually(is_gone)
        await defined(cluster, a_version("v1", {"n": INT}))
        review = json.loads(request.content)
        response = {"uid": review["request"]["uid"], "allowed": True}
        return httpx.Response(200, json={**review, "response": response})

    rule = {"operations": ["CREATE"], "apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["*"]}

    async def check(cluster: Cluster) -> Any:
        found.append(cluster)
        await defined(cluster, a_version("v1", {"n": INT}))
        webhooks = {"metadata": {"name": "v"}, "webhooks": [a_webhook("v", rule, timeoutSeconds=30)]}
        await cluster.create(webhooks, VALIDATING)
        with pytest.raises(ApiError, match="create not allowed while custom resource definition is terminating"):
            await cluster.create(a_widget(n=1), WIDGETS)
        return (await cluster.api.list(WIDGETS))["items"]

    assert run_cluster(check, webhook_transports=lambda context: httpx.MockTransport(respond)) == []


def test_who_owns_what_of_a_definition() -> None:
    """Whoever sent it still does once it is established, and the server owns what it wrote of the status."""

    async def check(cluster: Cluster) -> Object:
        await defined(cluster, a_version("v1", {"n": INT}))
        return await cluster.api.get(DEFINITIONS, NAME)

    entries = run_cluster(check)["metadata"]["managedFields"]

    owned = {entry.get("subresource", ""): entry["fieldsV1"] for entry in entries}
    assert [{"f:spec"}, {"f:status"}] == [set(owned[""]), set(owned["status"])]
    assert {"f:acceptedNames", "f:conditions"} == owned["status"]["f:status"].keys()
    assert ["kube-apiserver"] == [entry["manager"] for entry in entries if "subresource" in entry]


def test_a_changed_schema_shows_on_old_objects() -> None:
    """Objects stored before get new defaults and lose what is no longer known whenever they are read."""

    async def check(cluster: Cluster) -> Object:
        await defined(cluster, a_version("v1", {"old": INT}))
        widget = await cluster.create(a_widget(old=1), WIDGETS)
        versions = [a_version("v1", {"new": {**INT, "default": 7}})]
        await cluster.patch(a_definition(), {"spec": {"versions": versions}}, DEFINITIONS)

        async def changed() -> Object:
            shown = await cluster.read(widget, WIDGETS)
            return shown if shown["spec"] == {"new": 7} else {}

        return await cluster.eventually(changed)

    assert {"new": 7} == run_cluster(check)["spec"]


def test_versions_share_objects() -> None:
    """An object written in one version is read in another, which shows what it knows."""

    async def check(cluster: Cluster) -> tuple[Object, Object]:
        await defined(cluster, a_version("v1", {"a": INT, "b": INT}), a_version("v2", {"a": INT}))
        await cluster.create(a_widget(a=1, b=2), WIDGETS)
        return (
            await cluster.api.get(WIDGETS, "a", "default"),
            await cluster.api.get(NEW_WIDGETS, "a", "default"),
        )

    old, new = run_cluster(check)

    assert ({"a": 1, "b": 2}, {"a": 1}, "example.com/v2") == (old["spec"], new["spec"], new["apiVersion"])


def test_status_is_apart() -> None:
    """With the status subresource each endpoint changes only its half, and only the spec moves the generation."""

    async def check(cluster: Cluster) -> Object:
        await defined(cluster, a_version("v1", {"n": INT}, subresources={"status": {}}))
        widget = await cluster.create({**a_widget(n=1), "status": {"n": 5}}, WIDGETS)
        assert "status" not in widget
        both = {"spec": {"n": 9}, "status": {"n": 9}}
        return await cluster.api.patch(WIDGETS, "a", both, "default", subresource="status")

    widget = run_cluster(check)

    assert ({"n": 1}, {"n": 9}, 1) == (widget["spec"], widget["status"], widget["metadata"]["generation"])


def test_new_selectable_fields_select_old_objects() -> None:
    """A field that becomes selectable later selects what was stored before."""

    async def check(cluster: Cluster) -> list[str]:
        await defined(cluster, a_version("v1", {"t": TEXT}))
        for name, text in (("a", "x"), ("b", "y")):
            await cluster.create(a_widget(name, t=text), WIDGETS)
        versions = [a_version("v1", {"t": TEXT}, selectableFields=[{"jsonPath": ".spec.t"}])]
        await cluster.patch(a_definition(), {"spec": {"versions": versions}}, DEFINITIONS)
        await cluster.settled()
        found = await cluster.api.list(WIDGETS, "default", field_selector="spec.t=y")
        return [widget["metadata"]["name"] for widget in found["items"]]

    assert ["b"] == run_cluster(check)


def test_invalid_objects_are_refused() -> None:
    """The schema's errors and broken rules come out as field errors."""

    async def check(cluster: Cluster) -> list[str]:
        version = a_version("v1", {"n": {**INT, "x-kubernetes-validations": [{"rule": "self < 5"}]}})
        await defined(cluster, version)
        messages = []
        for value in ("x", 9):
            with pytest.raises(Invalid) as refusal:
                await cluster.create(a_widget(n=value), WIDGETS)
            messages.append(refusal.value.message)
        return messages

    wrong_type, broken_rule = run_cluster(check)

    assert 'spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"' in wrong_type
    assert 'Widget.example.com "a" is invalid: spec.n: Invalid value: 9: failed rule: self < 5' == broken_rule


def test_a_deleted_definition_takes_its_objects_along() -> None:
    """Objects go first, held by their finalizers; until then nothing new is created, and afterwards nothing served."""

    async def check(cluster: Cluster) -> ApiError:
        await defined(cluster, a_version("v1", {"n": INT}))
        held = a_widget("held")
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.create(held, WIDGETS)
        await cluster.create(a_widget("free"), WIDGETS)
        await cluster.delete(a_definition(), DEFINITIONS)
        await cluster.settled()
        assert ["held"] == [widget["metadata"]["name"] for widget in await cluster.list(WIDGETS)]
        with pytest.raises(ApiError) as refusal:
            await cluster.create(a_widget("late"), WIDGETS)
        await cluster.patch(held, {"metadata": {"finalizers": None}}, WIDGETS)
        await cluster.settled()
        for resource, name, namespace in ((DEFINITIONS, NAME, ""), (WIDGETS, "held", "default")):
            with pytest.raises(NotFound):
                await cluster.api.get(resource, name, namespace)
        return refusal.value

    refusal = run_cluster(check)

    assert (405, "create not allowed while custom resource definition is terminating") == (
        refusal.code,
        refusal.message,
    )


def test_kinds_survive_a_restart() -> None:
    """A server that starts again serves the kinds of its definitions with its first answer."""

    async def check(cluster: Cluster) -> Object:
        await defined(cluster, a_version("v1", {"n": INT}))
        await cluster.create(a_widget(n=1), WIDGETS)
        await cluster.stop_server()
        await cluster.start_server()
        return await cluster.api.get(WIDGETS, "a", "default")

    assert {"n": 1} == run_cluster(check)["spec"]
