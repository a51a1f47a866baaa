"""MutatingAdmissionPolicies: what they make of an object, what they refuse, and when they are asked again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Chain, Plugin
from apiserver.admission.plugins.mutating_admission_policy import MutatingAdmissionPolicy
from apiserver.auth.authorization import AlwaysAllow
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import DEPLOYMENTS, PODS
from tests.testkit.forms import FORMS
from tests.testkit.reader import DictReader

GROUP = "admissionregistration.k8s.io"
POLICIES, BINDINGS = f"mutatingadmissionpolicies.{GROUP}", f"mutatingadmissionpolicybindings.{GROUP}"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
DENIED = "policy 'p' with binding 'b' denied request: "


def json_patch(expression: str) -> Object:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def configuration(expression: str) -> Object:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def a_policy(*mutations: Object, name: str = "p", **spec: Any) -> Object:
    return {
        "metadata": {"name": name, "resourceVersion": "1"},
        "spec": {
            "matchConstraints": {"resourceRules": [RULE]},
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": list(mutations),
            **spec,
        },
    }


def a_pod() -> Object:
    return {
        "metadata": {"name": "w", "namespace": "ns", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


def bound(*policies: Object) -> DictReader:
    reader = DictReader().put(POLICIES, *policies)
    for i, policy in enumerate(policies):
        name = policy["metadata"]["name"]
        reader.put(BINDINGS, {"metadata": {"name": f"b{i or ''}"}, "spec": {"policyName": name}})
    return reader


def mutated(*policies: Object, others: tuple[Plugin, ...] = ()) -> Object:
    attributes = Attributes(CREATE, PODS, "ns", "w", a_pod())
    plugin = MutatingAdmissionPolicy(bound(*policies), FORMS, AlwaysAllow())
    asyncio.run(Chain([plugin, *others]).mutate(attributes))
    assert attributes.object is not None
    return attributes.object


def refusal(*policies: Object) -> ApiError:
    with pytest.raises(ApiError) as caught:
        mutated(*policies)
    return caught.value


def test_a_json_patch_changes_the_object() -> None:
    """Operations are carried out in order; keys may be escaped, and what is added is given its defaults."""
    labels = "JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x/y'), value: 'z'}"
    container = "JSONPatch{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{name: 'd', image: 'j'}}"

    pod = mutated(a_policy(json_patch(f"[{labels}, {container}]")))

    assert {"a": "b", "x/y": "z"} == pod["metadata"]["labels"]
    assert ["c", "d"] == [container["name"] for container in pod["spec"]["containers"]]
    assert "Always" == pod["spec"]["containers"][1]["imagePullPolicy"]


def test_a_patch_whose_test_fails_does_nothing() -> None:
    """None of its operations takes effect."""
    operations = (
        "[JSONPatch{op: 'add', path: '/metadata/labels/x', value: 'y'}, "
        "JSONPatch{op: 'test', path: '/metadata/labels/a', value: 'c'}]"
    )

    assert {"a": "b"} == mutated(a_policy(json_patch(operations)))["metadata"]["labels"]


def test_a_configuration_is_merged_as_server_side_apply_does() -> None:
    """Items of a list are found by their keys; what the configuration leaves out stays."""
    expression = (
        "Object{metadata: Object.metadata{labels: {'x': string(object.spec.containers.size())}}, spec: Object.spec{"
        "containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, "
        "env: [Object.spec.containers.env{name: 'E', value: variables.v}]})}}"
    )
    policy = a_policy(configuration(expression), variables=[{"name": "v", "expression": "object.metadata.name"}])

    pod = mutated(policy)

    container = pod["spec"]["containers"][0]
    assert {"a": "b", "x": "1"} == pod["metadata"]["labels"]
    assert ("c", "i", [{"name": "E", "value": "w"}]) == (container["name"], container["image"], container["env"])


@pytest.mark.parametrize(
    ("mutation", "why"),
    [
        (
            json_patch("[JSONPatch{op: 'remove', path: '/spec/nope'}]"),
            "JSON Patch: error in remove for path: '/spec/nope': Unable to remove nonexistent key: nope: missing value",
        ),
        (json_patch("[JSONPatch{op: 'grow', path: '/spec'}]"), "JSON Patch: Unexpected kind: grow"),
        (
            json_patch("[JSONPatch{op: 'add', path: '/spec', value: Object.spec{x: Object.y{}}}]"),
            'type mismatch: unexpected type name "Object.y", expected "Object.spec.x", which matches field name path '
            "from root Object type",
        ),
        (
            configuration("Object{spec: Object.spec{nope: 1}}"),
            "error applying patch: failed to convert patch object to typed object: .spec.nope: field not declared in "
            "schema",
        ),
        (
            configuration("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', args: ['x']}]}}"),
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
            ".spec.containers[0].args",
        ),
        (
            configuration("Object{spec: Object.wrong{}}"),
            'type mismatch: unexpected type name "Object.wrong", expected "Object.spec", which matches field name '
            "path from root Object type",
        ),
        (
            configuration("Object{metadata: Object.metadata{name: object.nope}}"),
            "expression 'Object{metadata: Object.metadata{name: object.nope}}' resulted in error: no such key: nope",
        ),
    ],
)
def test_mutations_that_cannot_be_made(mutation: Object, why: str) -> None:
    """A mutation that fails refuses the write, in the real server's words; with Ignore it changes nothing."""
    error = refusal(a_policy(mutation))
    pod = mutated(a_policy(mutation, failurePolicy="Ignore"))

    assert (403, "Invalid", DENIED + why) == (error.code, error.reason, error.message)
    assert error.details is not None
    assert [{"message": DENIED + why}] == error.details["causes"]
    assert {"a": "b"} == pod["metadata"]["labels"]


def test_what_a_kind_does_not_know_is_an_internal_error() -> None:
    """As upstream, a JSON patch that makes an unknown field is the server's trouble."""
    error = refusal(a_policy(json_patch("[JSONPatch{op: 'add', path: '/spec/nope', value: 1}]")))

    why = 'Internal error occurred: strict decoding error: unknown field "spec.nope"'
    assert (500, why) == (error.code, error.message)


def test_match_conditions_narrow_down() -> None:
    """A condition that is false keeps a policy out, even beside one that fails; one that only fails refuses."""
    mutation = configuration("Object{metadata: Object.metadata{labels: {'x': 'y'}}}")
    fails = {"name": "f", "expression": "object.nope == 1"}
    never = {"name": "n", "expression": "false"}

    kept_out = mutated(a_policy(mutation, matchConditions=[fails, never]))
    error = refusal(a_policy(mutation, matchConditions=[fails]))

    assert {"a": "b"} == kept_out["metadata"]["labels"]
    assert f"{DENIED}expression 'object.nope == 1' resulted in error: no such key: nope" == error.message


class Labelling(Plugin):
    """Another plugin, which adds a label each time it is asked."""

    def __init__(self) -> None:
        self.times = 0

    async def admit(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        self.times += 1
        attributes.object["metadata"]["labels"][f"n{self.times}"] = "x"


@pytest.mark.parametrize(("policy", "expected"), [("IfNeeded", "3"), ("Never", "1")])
def test_policies_that_may_be_asked_again_are_where_others_changed_the_object(policy: str, expected: str) -> None:
    """IfNeeded sees the labels that came after it; Never keeps its first answer."""
    count = "Object{metadata: Object.metadata{annotations: {'count': string(object.metadata.labels.size())}}}"
    label = "Object{metadata: Object.metadata{labels: {'late': 'x'}}}"
    counting = a_policy(configuration(count), name="a", reinvocationPolicy=policy)
    labelling = a_policy(configuration(label), name="z")

    pod = mutated(counting, labelling, others=(Labelling(),))

    assert {"count": expected} == pod["metadata"]["annotations"]


def test_several_policies_see_what_the_others_made() -> None:
    """Policies go by name; each works on what those before it left."""
    first = a_policy(configuration("Object{metadata: Object.metadata{labels: {'x': 'y'}}}"), name="a")
    second = a_policy(
        json_patch("[JSONPatch{op: 'move', from: '/metadata/labels/x', path: '/metadata/labels/z'}]"), name="b"
    )

    assert {"a": "b", "z": "y"} == mutated(first, second)["metadata"]["labels"]


def test_an_unknown_kind_of_parameters_is_a_fault_of_the_policy() -> None:
    """It refuses what it matches, by its own name alone."""
    policy = a_policy(configuration("Object{}"), paramKind={"apiVersion": "x.io/v1", "kind": "Nope"})

    why = "failed to configure policy: failed to find resource referenced by paramKind: 'x.io/v1, Kind=Nope'"
    error = refusal(policy)
    assert (403, "Forbidden", f'policy "p" denied request: {why}') == (error.code, error.reason, error.message)


def test_a_scale_is_changed_as_what_it_is() -> None:
    """Through a subresource of another kind, the policy sees and changes an object of that kind."""
    rule = {"operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"]}
    policy = a_policy(
        configuration("Object{spec: Object.spec{replicas: object.spec.replicas + 1}}"),
        json_patch("[JSONPatch{op: 'test', path: '/kind', value: 'Scale'}, JSONPatch{op: 'remove', path: '/status'}]"),
        matchConstraints={"resourceRules": [rule]},
    )
    scale = {"metadata": {"name": "d"}, "spec": {"replicas": 1}, "status": {"replicas": 1, "selector": "app=d"}}
    attributes = Attributes(UPDATE, DEPLOYMENTS, "ns", "d", scale, scale, subresource="scale")

    asyncio.run(Chain([MutatingAdmissionPolicy(bound(policy), FORMS, AlwaysAllow())]).mutate(attributes))

    assert attributes.object == {"metadata": {"name": "d"}, "spec": {"replicas": 2}, "status": {"replicas": 0}}
