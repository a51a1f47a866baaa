"""The status of ValidatingAdmissionPolicies, on a living cluster."""

from __future__ import annotations

from typing import Any

import pytest

from controllers import policy_types
from controllers.policy_types.kinds import KindName, ServedKinds
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_ADMISSION_POLICIES
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

LOOPS = {"types": a_loop(policy_types.add_to)}
DAEMON_SET, DEPLOYMENT = KindName("apps", "v1", "DaemonSet"), KindName("apps", "v1", "Deployment")


def a_rule(group: str = "apps", version: str = "v1", *resources: str) -> Object:
    names = list(resources or ("deployments",))
    return {"apiGroups": [group], "apiVersions": [version], "resources": names, "operations": ["CREATE"]}


def a_policy(expression: str, rule: Object | None = None, **more: Any) -> Object:
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    constraints = {"resourceRules": [rule or a_rule()]}
    spec = {"matchConstraints": constraints, "validations": [{"expression": expression}], **more}
    return {**kind, "metadata": {"name": "policy"}, "spec": spec}


async def seen(cluster: Cluster, policy: Object) -> Object:
    """The status, once this generation has been looked at."""

    async def status() -> Object | None:
        found = await cluster.read(policy)
        answer: Object = found.get("status") or {}
        return answer if answer.get("observedGeneration") == found["metadata"]["generation"] else None

    answer = await cluster.eventually(status)
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([], []),
        ([a_rule()], [DEPLOYMENT]),
        ([a_rule(), a_rule("", "v1", "pods")], [KindName("", "v1", "Pod"), DEPLOYMENT]),
        ([a_rule("apps", "v1", "*")], []),
        ([a_rule("apps", "v1", "pods/*", "deployments/scale")], []),
        ([a_rule("*"), a_rule("apps", "*")], []),
        ([a_rule("apps", "v1", "*", "DaemonSets", "deployment")], [DAEMON_SET, DEPLOYMENT]),
        ([a_rule("apps", "v2")], []),
        ([a_rule("", "v1", "events")], [KindName("", "v1", "Event"), KindName("events.k8s.io", "v1", "Event")]),
    ],
)
def test_which_kinds_a_policy_names(rules: list[Object], expected: list[KindName]) -> None:
    """Nothing by wildcards; the core group is read as any group, as upstream's mapper does."""

    async def check(cluster: Cluster) -> list[KindName]:
        return await ServedKinds(cluster.api).matched_by(rules)

    assert expected == run_cluster(check)


def test_no_more_than_ten_kinds_of_a_rule() -> None:
    """The first ten by name; another rule has ten of its own."""
    core = ("configmaps", "endpoints", "limitranges", "namespaces", "nodes", "persistentvolumeclaims")
    more = ("persistentvolumes", "pods", "podtemplates", "resourcequotas", "secrets", "services")

    async def check(cluster: Cluster) -> list[KindName]:
        return await ServedKinds(cluster.api).matched_by([a_rule("", "v1", *core, *more), a_rule()])

    found = [kind.kind for kind in run_cluster(check)]

    assert 11 == len(found)
    assert {"Secret", "Service"}.isdisjoint(found)


def test_a_policy_that_fits_has_an_empty_result() -> None:
    """And its generation is noted."""

    async def check(cluster: Cluster) -> Object:
        return await seen(cluster, await cluster.create(a_policy("object.spec.replicas > 1")))

    assert {"observedGeneration": 1, "typeChecking": {}} == run_cluster(check, processes=LOOPS)


@pytest.mark.parametrize(
    ("expression", "rule", "fault"),
    [
        ("object.replicas > 1", a_rule(), "<input>:1:7: undefined field 'replicas'"),
        ("object.spec.replicas > '1'", a_rule(), "found no matching overload for '_>_' applied to '(int, string)'"),
        ("object.spec.template.spec.containers.all(c, c.imag == '')", a_rule(), "undefined field 'imag'"),
        ("object.data['a'] == 'b'", a_rule("", "v1", "secrets"), "applied to '(bytes, string)'"),
        ("object.metadata.creationTimestamp == ''", a_rule("", "v1", "pods"), "applied to '(timestamp, string)'"),
        ("object.spec.maxUnavailable == 1", a_rule("policy", "v1", "poddisruptionbudgets"), ""),
        ("object.metadata.labels['a'] == 'b'", a_rule("", "v1", "pods"), ""),
        (
            "object.spec.versions[0].schema.openAPIV3Schema.not.any == 1",
            a_rule("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
            "undefined field 'any'",
        ),
    ],
)
def test_types_of_built_in_kinds(expression: str, rule: Object, fault: str) -> None:
    """Are those that the server publishes."""

    async def check(cluster: Cluster) -> Object:
        return await seen(cluster, await cluster.create(a_policy(expression, rule)))

    checked = run_cluster(check, processes=LOOPS)["typeChecking"]

    warnings = checked.get("expressionWarnings", [])
    assert fault in "".join(warning["warning"] for warning in warnings)
    assert bool(fault) == bool(warnings)


def a_definition() -> Object:
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def test_types_of_custom_kinds() -> None:
    """A kind that was defined after the loop started, and parameters of it."""

    async def check(cluster: Cluster) -> Object:
        await seen(cluster, await cluster.create({**a_policy("true"), "metadata": {"name": "first"}}))
        await cluster.create(a_definition(), CUSTOM_RESOURCE_DEFINITIONS)
        await cluster.clock.sleep(5)
        kind = {"apiVersion": "example.com/v1", "kind": "Widget"}
        rule = a_rule("example.com", "v1", "widgets")
        policy = a_policy("object.spec.size == params.sise", rule, paramKind=kind)
        return await seen(cluster, await cluster.create(policy))

    [warning] = run_cluster(check, processes=LOOPS)["typeChecking"]["expressionWarnings"]

    assert warning["warning"].startswith("example.com/v1, Kind=Widget: ERROR: <input>:1:27: undefined field 'sise'")


def test_each_generation_is_looked_at_once() -> None:
    """A change is, a restart and a change of labels are not; what was wrong and is mended is no longer told."""

    async def check(cluster: Cluster) -> tuple[Object, Object, list[str]]:
        policy = await cluster.create(a_policy("object.replicas > 1"))
        before = await seen(cluster, policy)
        await cluster.patch(policy, {"metadata": {"labels": {"a": "b"}}})
        await cluster.stop("types")
        cluster.start("types")
        await cluster.clock.sleep(10)
        validations = [{"expression": "object.spec.replicas > 1"}]
        await cluster.patch(policy, {"spec": {"validations": validations}})
        after = await seen(cluster, policy)
        return before, after, [write.target for write in cluster.writes if write.process == "types"]

    before, after, writes = run_cluster(check, processes=LOOPS)

    assert 1 == len(before["typeChecking"]["expressionWarnings"])
    assert not after.get("typeChecking")
    assert 2 == len(writes)


def test_what_nobody_serves_is_not_checked() -> None:
    """The policy is noted as seen, as upstream."""

    async def check(cluster: Cluster) -> Object:
        return await seen(cluster, await cluster.create(a_policy("object.x == 1", a_rule("nobody.example.com"))))

    assert {"observedGeneration": 1, "typeChecking": {}} == run_cluster(check, processes=LOOPS)


def test_the_status_is_this_loops() -> None:
    """It applies it under upstream's name."""

    async def check(cluster: Cluster) -> list[Object]:
        policy = await cluster.create(a_policy("true"))
        await seen(cluster, policy)
        found = await cluster.api.get(VALIDATING_ADMISSION_POLICIES, "policy")
        entries: list[Object] = found["metadata"]["managedFields"]
        return [entry for entry in entries if entry.get("subresource") == "status"]

    [entry] = run_cluster(check, processes=LOOPS)

    assert ("validatingadmissionpolicy-status", "Apply") == (entry["manager"], entry["operation"])
