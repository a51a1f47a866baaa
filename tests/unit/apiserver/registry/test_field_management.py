"""Field management of real kinds: who owns what after creations, updates and applies."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apiserver.registry.catalog import Catalog
from apiserver.registry.field_management import Applied, FieldManagement, differs_in_times
from apiserver.registry.field_versions import KindVersions
from apiserver.resources.catalog import KINDS
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.errors import ApiError, BadRequest, Conflict
from kubeloop.apimachinery.meta import deep_copy

Object = dict[str, Any]

SCHEMA, CATALOG = Schema.load(), Catalog.of(KINDS)


class SteppingClock:
    """A second passes between any two looks at it."""

    def __init__(self) -> None:
        self._now = datetime(2024, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now

    def monotonic(self) -> float:
        return self._now.timestamp()

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


class Fields:
    """Field management, waited for."""

    def __init__(self, management: FieldManagement) -> None:
        self._management = management

    def created(self, obj: Object, manager: str) -> None:
        asyncio.run(self._management.created(obj, manager))

    def updated(self, new: Object, old: Object, manager: str, subresource: str) -> None:
        asyncio.run(self._management.updated(new, old, manager, subresource))

    def applied(self, config: Object, old: Object | None, manager: str, subresource: str, *, force: bool) -> Applied:
        return asyncio.run(self._management.applied(config, old, manager, subresource, force=force))


def management(group: str, plural: str, version: str = "v1") -> Fields:
    kind = CATALOG.get(group, version, plural)
    assert kind is not None
    return Fields(FieldManagement(KindVersions(kind, SCHEMA, CATALOG), SteppingClock()))


def config_map(**data: str) -> Object:
    return {"metadata": {"name": "a", "uid": "1"}, "data": data}


def applied_config(**data: str) -> Object:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": data}


def fields_by_manager(entries: Any) -> dict[str, Object]:
    return {entry["manager"]: entry["fieldsV1"] for entry in entries}


def stored(fields: Fields, document: Object | None, entries: Any, old: Object | None = None) -> Object:
    """What a store would make of an applied document."""
    obj = deep_copy(document or old)
    obj = {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}
    obj["metadata"] = {"uid": "1", **obj["metadata"], "managedFields": list(entries)}
    return obj


def applied(fields: Fields, config: Object, old: Object | None, manager: str, force: bool = False) -> Object:
    document, entries = fields.applied(config, old, manager, "", force=force)
    return stored(fields, document, entries, old)


def test_a_creator_owns_what_it_sent() -> None:
    """All sent fields and the maps that hold them are owned; the name and what the server sets are not."""
    fields, obj = management("", "configmaps"), config_map(k="v")

    fields.created(obj, "tool")

    (entry,) = obj["metadata"]["managedFields"]
    assert {
        "manager": "tool",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2024-01-01T00:00:01Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {".": {}, "f:k": {}}},
    } == entry


def test_an_unnamed_manager_is_unknown() -> None:
    """Who sends neither fieldManager nor User-Agent is called unknown."""
    fields, obj = management("", "configmaps"), config_map(k="v")

    fields.created(obj, "")

    assert ["unknown"] == [entry["manager"] for entry in obj["metadata"]["managedFields"]]


def test_a_creator_does_not_own_status() -> None:
    """What creation resets nobody owns."""
    fields = management("apps", "deployments")
    obj = {"metadata": {"name": "a"}, "spec": {"replicas": 1}, "status": {"replicas": 1}}

    fields.created(obj, "tool")

    assert {"tool": {"f:spec": {"f:replicas": {}}}} == fields_by_manager(obj["metadata"]["managedFields"])


@pytest.mark.parametrize("plural", ["deployments", "replicasets", "statefulsets"])
def test_replicas_that_nobody_applies_are_left_to_the_default(plural: str) -> None:
    """A first apply without them does not ask for none: whoever leaves them to an autoscaler begins with one."""
    fields = management("apps", plural)
    kind = {"deployments": "Deployment", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet"}[plural]
    config = {"kind": kind, "apiVersion": "apps/v1", "metadata": {"name": "a"}, "spec": {"minReadySeconds": 5}}

    document, _ = fields.applied(config, None, "tool", "", force=False)

    assert document is not None
    assert "replicas" not in document["spec"]


def test_an_update_takes_the_fields_it_changes() -> None:
    """Who changes a value owns it from then on, and nobody owns what was dropped."""
    fields, old = management("", "configmaps"), config_map(k="v", n="1", o="2")
    fields.created(old, "maker")
    new = deep_copy(old) | {"data": {"k": "w", "n": "1"}}

    fields.updated(new, old, "hand", "")

    assert {"maker": {"f:data": {".": {}, "f:n": {}}}, "hand": {"f:data": {"f:k": {}}}} == fields_by_manager(
        new["metadata"]["managedFields"]
    )


def test_an_update_that_changes_nothing_moves_nothing() -> None:
    """The entries stay as they are, times too."""
    fields, old = management("", "configmaps"), config_map(k="v")
    fields.created(old, "maker")
    new = deep_copy(old)

    fields.updated(new, old, "hand", "")

    assert old == new


def test_a_status_update_owns_status_alone() -> None:
    """Its entry has the subresource, and what the endpoint resets is not owned."""
    fields = management("apps", "deployments")
    old: Object = {"metadata": {"name": "a", "uid": "1"}, "spec": {"replicas": 1}}
    fields.created(old, "tool")
    new = deep_copy(old) | {"spec": {"replicas": 9}, "status": {"replicas": 1}}

    fields.updated(new, old, "loop", "status")

    by_manager = {entry["manager"]: entry for entry in new["metadata"]["managedFields"]}
    assert ("status", {"f:status": {".": {}, "f:replicas": {}}}) == (
        by_manager["loop"]["subresource"],
        by_manager["loop"]["fieldsV1"],
    )


@pytest.mark.parametrize("sent", [[], [{}]])
def test_a_request_may_have_all_managers_forgotten(sent: Any) -> None:
    """After that nobody is noted, and later updates note nobody either."""
    fields, old = management("", "configmaps"), config_map(k="v")
    fields.created(old, "maker")
    new = deep_copy(old)
    new["metadata"]["managedFields"] = sent

    fields.updated(new, old, "hand", "")
    later = deep_copy(new) | {"data": {"k": "w"}}
    fields.updated(later, new, "hand", "")

    assert [False, False] == ["managedFields" in obj["metadata"] for obj in (new, later)]


def test_entries_that_are_no_good_are_replaced_by_the_stored_ones() -> None:
    """A request with made-up entries keeps those that were there."""
    fields, old = management("", "configmaps"), config_map(k="v")
    fields.created(old, "maker")
    new = deep_copy(old)
    new["metadata"]["managedFields"] = [{"manager": "x", "operation": "Nonsense"}]

    fields.updated(new, old, "hand", "")

    assert old == new


def test_an_apply_conflicts_with_who_changed_the_field() -> None:
    """The refusal names the field and its owner; applying the same value shares it instead."""
    fields, old = management("", "configmaps"), config_map(k="v")
    fields.created(old, "maker")

    with pytest.raises(Conflict) as refused:
        fields.applied(applied_config(k="x"), old, "one", "", force=False)
    document, entries = fields.applied(applied_config(k="v"), old, "one", "", force=False)

    assert 'Apply failed with 1 conflict: conflict with "maker" using v1: .data.k' == refused.value.message
    assert (None, ["one", "maker"]) == (document, [entry["manager"] for entry in entries])
    assert "time" not in entries[0]


def test_force_takes_the_field_over() -> None:
    """The loser keeps its other fields."""
    fields = management("", "configmaps")
    old = applied(fields, applied_config(k="v", n="1"), None, "one")

    new = applied(fields, applied_config(k="x"), old, "two", force=True)

    assert {"one": {"f:data": {"f:n": {}}}, "two": {"f:data": {"f:k": {}}}} == fields_by_manager(
        new["metadata"]["managedFields"]
    )


def test_what_an_applier_states_no_more_goes_unless_owned() -> None:
    """A field leaves with its last owner; others' fields and unowned ones stay."""
    fields = management("", "configmaps")
    old = applied(fields, applied_config(k="v", shared="s", gone="g"), None, "one")
    old = applied(fields, applied_config(shared="s", other="o"), old, "two")

    new = applied(fields, applied_config(k="v"), old, "one")

    assert {"k": "v", "shared": "s", "other": "o"} == new["data"]


def test_a_list_item_goes_with_all_in_it_but_stays_while_another_owns_it() -> None:
    """A port an applier drops is removed; one that another applier states too remains."""
    fields = management("", "services")

    def service(*ports: int) -> Object:
        spec = {"ports": [{"port": port} for port in ports]}
        return {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": spec}

    old = applied(fields, service(80, 81, 82), None, "one")
    old = applied(fields, service(82), old, "two")

    new = applied(fields, service(80), old, "one")

    assert [80, 82] == [port["port"] for port in new["spec"]["ports"]]


def test_fields_set_before_the_first_apply_have_an_owner() -> None:
    """Where nobody was noted, an apply of another value conflicts with before-first-apply."""
    fields = management("", "configmaps")

    with pytest.raises(Conflict) as refused:
        fields.applied(applied_config(k="x"), config_map(k="v"), "one", "", force=False)

    assert 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k' == refused.value.message


def test_kubectl_takes_over_what_it_applied_from_the_client() -> None:
    """No conflict about fields that stand in last-applied with the values they still have; the annotation follows."""
    fields, old = management("", "configmaps"), config_map(k="v", n="1")
    last = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}'
    old["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": last}
    fields.created(old, "kubectl-client-side-apply")

    new = applied(fields, applied_config(k="x"), old, "kubectl")
    with pytest.raises(Conflict):
        applied(fields, applied_config(n="2"), old, "kubectl")

    annotation = new["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert (
        '{"apiVersion":"v1","data":{"k":"x"},"kind":"ConfigMap","metadata":{"name":"a"}}\n',
        {"k": "x", "n": "1"},
    ) == (annotation, new["data"])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"kind": "ConfigMap"}, "invalid object type: /, Kind=ConfigMap"),
        ({"apiVersion": "v1"}, "invalid object type: /v1, Kind="),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, "invalid object type: apps/v1, Kind=Deployment"),
        (applied_config() | {"metadata": {"managedFields": []}}, "metadata.managedFields must be nil"),
        (
            applied_config() | {"nope": 1},
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .nope: field not declared in schema",
        ),
        (
            applied_config() | {"data": {"a": True, "b": {"c": 1}}},
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): errors:\n"
            "  .data.a: expected string, got &value.valueUnstructured{Value:true}\n"
            "  .data.b: expected string, got "
            '&value.valueUnstructured{Value:map[string]interface {}{"c":1}}',
        ),
    ],
)
def test_configurations_of_the_wrong_type_are_refused(config: Object, message: str) -> None:
    """In structured merge's own words, type errors as 500."""
    with pytest.raises(ApiError) as refused:
        management("", "configmaps").applied(config, None, "one", "", force=False)

    assert (message, 400 if isinstance(refused.value, BadRequest) else 500) == (
        refused.value.message,
        refused.value.code,
    )


def test_ownership_follows_through_other_versions() -> None:
    """An update in autoscaling/v2 takes a field from the entry of autoscaling/v1."""
    first, second = (
        management("autoscaling", "horizontalpodautoscalers"),
        management("autoscaling", "horizontalpodautoscalers", "v2"),
    )
    old: Object = {"metadata": {"name": "a", "uid": "1"}, "spec": {"maxReplicas": 3, "minReplicas": 1}}
    first.created(old, "one")
    new = deep_copy(old) | {"spec": {"maxReplicas": 5, "minReplicas": 1}}

    second.updated(new, old, "two", "")

    assert {"one": {"f:spec": {"f:minReplicas": {}}}, "two": {"f:spec": {"f:maxReplicas": {}}}} == fields_by_manager(
        new["metadata"]["managedFields"]
    )


def test_new_times_alone_are_nothing_to_write() -> None:
    """An object whose entries differ in times only counts as unchanged; with another value it does not."""
    old = config_map(k="v")
    old["metadata"]["managedFields"] = [{"manager": "a", "time": "2024-01-01T00:00:00Z"}]
    new = deep_copy(old)
    new["metadata"]["managedFields"][0]["time"] = "2024-01-01T00:00:09Z"

    assert (True, False) == (differs_in_times(new, old), differs_in_times(new | {"data": {}}, old))


@pytest.mark.parametrize(
    ("name", "where", "shown"),
    [
        ([{"containerPort": 80}], "[containerPort=80]", '[]interface {}{map[string]interface {}{"containerPort":80}}'),
        ({"b": "x", "a": 1}, 'a=1b="x"', 'map[string]interface {}{"a":1, "b":"x"}'),
        ([], "[]", "[]interface {}{}"),
        (True, "true", "true"),
    ],
)
def test_a_merge_key_of_a_wrong_type_is_refused_as_any_wrong_type(name: Any, where: str, shown: str) -> None:
    """A list or map as a container's name is shown in the path and refused for not being text."""
    fields = management("", "podtemplates")
    config = {"kind": "PodTemplate", "apiVersion": "v1", "metadata": {"name": "a"}}
    config["template"] = {"spec": {"containers": [{"name": name, "image": "i"}]}}  # type: ignore[assignment]

    with pytest.raises(ApiError) as refused:
        applied(fields, config, None, "tool")

    assert (
        "failed to create typed patch object (/a; /v1, Kind=PodTemplate): "
        f".template.spec.containers[name={where}].name: expected string, "
        f"got &value.valueUnstructured{{Value:{shown}}}"
    ) == refused.value.message


@pytest.mark.parametrize("step", ["k:5", "k:[1]", 'k:"a"', "k:null", "k:{", "i:x"])
def test_entries_with_unreadable_steps_count_as_none(step: str) -> None:
    """What a client sends as managedFields is dropped where its steps are malformed, and the object is made."""
    fields, obj = management("", "configmaps"), config_map(k="v")
    entry = {"manager": "other", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    obj["metadata"]["managedFields"] = [entry | {"fieldsV1": {"f:data": {step: {}}}}]

    fields.created(obj, "tool")

    assert {"tool": {"f:data": {".": {}, "f:k": {}}}} == fields_by_manager(obj["metadata"]["managedFields"])
