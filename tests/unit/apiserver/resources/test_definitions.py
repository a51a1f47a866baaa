"""CustomResourceDefinitions as objects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

DEFINITIONS = KindOnTrial("apiextensions.k8s.io/v1", "CustomResourceDefinition")
NOW = datetime(2026, 1, 2, 4, 0, 0, tzinfo=UTC)
SHARED = "spec.validation.openAPIV3Schema"


def version(name: str = "v1", schema: Object | None = None, **fields: Any) -> Object:
    holder = {"openAPIV3Schema": {"type": "object"} if schema is None else schema}
    return {"name": name, "served": True, "storage": True, "schema": holder, **fields}


def definition(*versions: Object, **spec: Any) -> Object:
    names = {"plural": "widgets", "kind": "Widget"}
    said = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": list(versions), **spec}
    return {"metadata": {"name": f"widgets.{said['group']}"}, "spec": said}


def field_schema(part: Object) -> Object:
    """A schema whose field x is `part`."""
    return {"type": "object", "properties": {"x": part}}


def test_defaults() -> None:
    """Names are derived from the kind, and the storage version is noted as one that objects are stored in."""
    created = DEFINITIONS.created(definition(version("v2", storage=False), version("v1")))

    names = {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    assert (names, {"strategy": "None"}) == (created["spec"]["names"], created["spec"]["conversion"])
    status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
    assert (status, 1) == (created["status"], created["metadata"]["generation"])


@pytest.mark.parametrize(
    ("body", "refusals"),
    [
        (definition(version()), []),
        (
            definition(version(), group="example"),
            ['spec.group: Invalid value: "example": should be a domain with at least one dot'],
        ),
        (definition({"name": "v1", "storage": True}), ["spec.versions[0].schema.openAPIV3Schema: Required value"]),
        (
            definition(version(additionalPrinterColumns=[{"name": "A", "type": "map", "jsonPath": "spec"}])),
            [
                'spec.additionalPrinterColumns[0].type: Invalid value: "map": '
                "must be one of boolean,date,integer,number,string",
                'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": '
                "must be a simple json path starting with .",
            ],
        ),
        (
            definition(
                version(additionalPrinterColumns=[{"name": "A", "type": "string"}]), version("v2", storage=False)
            ),
            ["spec.versions[0].additionalPrinterColumns[0].JSONPath: Required value"],
        ),
        (
            definition(version(subresources={"scale": {"specReplicasPath": ".status.x"}})),
            [
                'spec.subresources.scale.specReplicasPath: Invalid value: ".status.x": '
                "should be a json path under .spec",
                "spec.subresources.scale.statusReplicasPath: Required value",
            ],
        ),
        (
            definition(version(deprecationWarning="old")),
            ['spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions'],
        ),
        (
            definition(version(), conversion={"strategy": "Webhook"}),
            [
                "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
                "spec.conversion.conversionReviewVersions: Required value",
            ],
        ),
        (
            definition(version(), group="x.k8s.io"),
            [
                "metadata.annotations[api-approved.kubernetes.io]: Required value: "
                'protected groups must have approval annotation "api-approved.kubernetes.io", '
                "see https://github.com/kubernetes/enhancements/pull/1111"
            ],
        ),
    ],
)
def test_what_a_definition_says(body: Object, refusals: list[str]) -> None:
    """What all versions have alike is named once, what one has on its own with the version."""
    actual = DEFINITIONS.create_errors(body)

    assert refusals == actual


@pytest.mark.parametrize(
    ("part", "refusals"),
    [
        ({"type": "string", "anyOf": [{"minLength": 1}]}, []),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}, []),
        ({}, ["type: Required value: must not be empty for specified object fields"]),
        ({"type": "array"}, ["items: Required value: must be specified"]),
        ({"type": "string", "not": {"nullable": True}}, ["not.nullable: Forbidden: must be false to be structural"]),
        (
            {"type": "string", "pattern": "("},
            [
                'pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
                "error parsing regexp: missing closing ): `(`"
            ],
        ),
        (
            {"type": "text"},
            [
                'type: Unsupported value: "text": '
                'supported values: "array", "boolean", "integer", "number", "object", "string"'
            ],
        ),
        ({"$ref": "#/x"}, ["$ref: Forbidden: $ref is not supported"]),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"},
            [
                "items.x-kubernetes-map-type: Invalid value: null: "
                "must be atomic as item of a list with x-kubernetes-list-type=set"
            ],
        ),
        (
            {
                "type": "array",
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            },
            [
                "items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, "
                "so it must have a default or be a required property"
            ],
        ),
        (
            {"type": "integer", "default": "a"},
            ['default: Invalid value: "string":  in body must be of type integer: "string"'],
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}},
            ['default: Invalid value: {"b":1}: must not have unknown fields'],
        ),
        (
            {"type": "string", "x-kubernetes-validations": [{"rule": " "}]},
            ["x-kubernetes-validations[0].rule: Required value: rule is not specified"],
        ),
        (
            {"type": "string", "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".a"}]},
            ['x-kubernetes-validations[0].fieldPath: Invalid value: ".a": must be a valid path'],
        ),
        (
            {"type": "integer", "default": 3, "x-kubernetes-validations": [{"rule": "self > 5", "message": "small"}]},
            ["default: Invalid value: 3: small"],
        ),
        (
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "minProperties": 5,
                "default": {"kind": "Pod"},
            },
            ["default.apiVersion: Required value"],
        ),
        (
            {"type": "array", "items": {"type": "string"}, "additionalItems": False},
            ["additionalItems: Forbidden: additionalItems is not supported"],
        ),
        (
            {"type": "object", "anyOf": [{"additionalProperties": {}}, {"additionalProperties": False}]},
            ["anyOf[0].additionalProperties: Forbidden: must be undefined to be structural"],
        ),
        (
            {"type": "string", "anyOf": [{"uniqueItems": True}], "oneOf": [{"uniqueItems": True}]},
            [
                f"{junctor}[0].uniqueItems: Forbidden: "
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
                for junctor in ("oneOf", "anyOf")
            ],
        ),
    ],
)
def test_schemas(part: Object, refusals: list[str]) -> None:
    """A schema is structural, and its defaults fit it."""
    errors = DEFINITIONS.create_errors(definition(version(schema=field_schema(part))))

    assert refusals == [error.removeprefix(f"{SHARED}.properties[x].") for error in errors]


def test_alternatives_only_narrow() -> None:
    """What a part of anyOf says of a field holds for a field that is described."""
    schema = {"type": "object", "anyOf": [{"properties": {"a": {"minLength": 1}}}]}

    actual = DEFINITIONS.create_errors(definition(version(schema=schema)))

    reason = f"because it is defined in {SHARED}.anyOf[0].properties[a]"
    assert [f"{SHARED}.properties[a]: Required value: {reason}"] == actual


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (".spec.color", ""),
        (
            ".spec.list",
            "must point to a field of type string, boolean or integer. "
            "Enum string fields and strings with formats are allowed.",
        ),
        (".spec.other", "is an invalid path: does not refer to a valid field"),
        (".spec['color']", "is an invalid path: array notation is not allowed"),
        ("spec.color", "is an invalid path: expected [ or . but got: spec"),
        (".spec.", "is an invalid path: unexpected end of JSON path"),
    ],
)
def test_selectable_fields(path: str, reason: str) -> None:
    """Only plain values of the schema can be selected by."""
    inner = {"color": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": inner}}}

    errors = DEFINITIONS.create_errors(definition(version(schema=schema, selectableFields=[{"jsonPath": path}])))

    expected = [f'spec.selectableFields[0].jsonPath: Invalid value: "{path}": {reason}'] if reason else []
    assert expected == errors


def test_selectable_fields_of_different_schemas() -> None:
    """Fields that all versions select by are looked for in the schema all versions have."""
    selectable = [{"jsonPath": ".x"}]
    versions = [
        version(schema=field_schema({"type": "string"}), selectableFields=selectable),
        version("v2", schema=field_schema({"type": "integer"}), storage=False, selectableFields=selectable),
    ]

    errors = DEFINITIONS.create_errors(definition(*versions))

    assert ['spec.selectableFields: Invalid value: "": may only be set when validations.schema is included'] == errors


def test_a_refused_schema_is_shown_as_the_internal_struct() -> None:
    """Where the status is validated apart, the root says little; what it says too much is shown with the rest."""
    schema = {"type": "object", "maxProperties": 0, "additionalProperties": {"$ref": "#/x"}, "enum": [{"b": 1, "a": 2}]}

    errors = DEFINITIONS.create_errors(definition(version(schema=schema, subresources={"status": {}})))

    assert errors[0].startswith(
        f'{SHARED}: Invalid value: {{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":false,'
    )
    assert '"MultipleOf":null,"Enum":[{"a":2,"b":1}],"MaxProperties":0,"MinProperties":null' in errors[0]
    assert '"AdditionalProperties":{"Allows":true,"Schema":{"ID":"","Schema":"","Ref":"#/x",' in errors[0]
    assert (
        '"XPreserveUnknownFields":null,"XEmbeddedResource":false,"XIntOrString":false,"XListMapKeys":null' in errors[0]
    )


def test_names_follow_from_group_and_plural() -> None:
    """A name is refused as such and for not being the one; so is a prefix of names."""
    obj = DEFINITIONS.created(definition(version()))

    rules = DEFINITIONS.strategy.name_rules(obj)

    rule = 'must be spec.names.plural+"."+spec.group'
    assert ([], [rule]) == (list(rules("widgets.example.com", False)), list(rules("widgets.", True))[-1:])
    assert 2 == len(rules("Widgets.example.com", False))


def test_formats_that_were_unknown_before_are_no_news() -> None:
    """An update warns of those it brings."""
    old = DEFINITIONS.created(definition(version(schema=field_schema({"type": "string", "format": "odd"}))))
    new = DEFINITIONS.created(definition(version(schema=field_schema({"type": "string", "format": "new"}))))

    assert [] == list(DEFINITIONS.strategy.update_warnings(old, old, ""))
    assert ['unrecognized format "new"'] == list(DEFINITIONS.strategy.update_warnings(new, old, ""))


def test_what_may_change() -> None:
    """Group and plural never change, the scope not once it is established, and stored versions stay."""
    old = DEFINITIONS.created(definition(version()))
    established = {**old, "status": {**old["status"], "conditions": [{"type": "Established", "status": "True"}]}}

    early = DEFINITIONS.change_errors(old, {"spec": {"scope": "Cluster"}})
    late = DEFINITIONS.change_errors(established, {"spec": {"scope": "Cluster", "names": {"plural": "things"}}})
    gone = DEFINITIONS.change_errors(old, {"spec": {"versions": [version("v2")]}})

    assert [] == early
    assert ["spec.scope", "spec.names.plural"] == [error.partition(":")[0] for error in late]
    assert ["status.storedVersions[0]"] == [error.partition(":")[0] for error in gone]


def test_a_ca_bundle_stays_good() -> None:
    """An established kind is not given a bundle without certificates, unless it had such a one before."""
    client = {"url": "https://example.com", "caBundle": "YQ=="}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    change = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    new = DEFINITIONS.created(definition(version()))
    established = {**new, "status": {**new["status"], "conditions": [{"type": "Established", "status": "True"}]}}

    reason = "unable to load root certificates: unable to parse bytes as PEM block"
    refusal = f'spec.conversion.webhookClientConfig.caBundle: Invalid value: "YQ==": {reason}'
    assert [] == DEFINITIONS.change_errors(new, change)
    assert [refusal] == DEFINITIONS.change_errors(established, change)
    assert [] == DEFINITIONS.change_errors({**established, **change, "spec": {**new["spec"], **change["spec"]}}, change)


def test_the_service_of_a_converter() -> None:
    """What its name lacks is said of the namespace, and the other way round, as upstream does."""
    client = {"service": {"namespace": "a"}}
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}

    errors = DEFINITIONS.create_errors(definition(version(), conversion=conversion))

    assert ["spec.conversion.webhookClientConfig.service.namespace: Required value"] == errors


def test_a_new_storage_version_is_noted() -> None:
    """Objects may be stored in either from then on."""
    old = DEFINITIONS.created(definition(version()))

    new = DEFINITIONS.changed(old, {"spec": {"versions": [version(storage=False), version("v2")]}})

    assert (["v1", "v2"], ["v1"]) == (new["status"]["storedVersions"], old["status"]["storedVersions"])


def test_deletion_waits_for_the_objects() -> None:
    """The first step marks it and adds the finalizer; the second is the usual one."""
    obj = DEFINITIONS.created(definition(version()))

    marked = DEFINITIONS.strategy.begin_deletion(obj, NOW)

    assert marked is not None
    assert ["customresourcecleanup.apiextensions.k8s.io"] == marked["metadata"]["finalizers"]
    assert "2026-01-02T04:00:00Z" == marked["metadata"]["deletionTimestamp"]
    assert ["Terminating"] == [condition["type"] for condition in marked["status"]["conditions"]]
    assert DEFINITIONS.strategy.begin_deletion(marked, NOW) is None


def test_unknown_formats_are_warned_of() -> None:
    """A format nobody looks at does no harm, but is probably not meant."""
    obj = DEFINITIONS.created(definition(version(schema=field_schema({"type": "string", "format": "odd"}))))

    assert ['unrecognized format "odd"'] == list(DEFINITIONS.strategy.warnings(obj))


def test_a_dear_rule_that_is_stored_may_stay() -> None:
    """Its version can be changed otherwise, and others be added: the limit holds for schemas that are written anew."""
    rules = [{"rule": "self.matches('^[a-z]+$')"}]
    dear = field_schema({"type": "array", "items": {"type": "string", "x-kubernetes-validations": rules}})
    dear["properties"]["x"]["maxItems"] = 100
    stored = DEFINITIONS.created(definition(version(schema=dear)))
    changed = {"versions": [version(schema={**dear, "description": "d"})]}

    kept = [{"versions": [version(schema=dear), version("v2", storage=False)]}, {"versions": [version(schema=dear)]}]

    assert [[], []] == [DEFINITIONS.change_errors(stored, {"spec": spec}) for spec in kept]
    forbidden = f"{SHARED}.properties[x].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost"
    for errors in (
        DEFINITIONS.create_errors(definition(*changed["versions"])),
        DEFINITIONS.change_errors(stored, {"spec": changed}),
    ):
        assert [forbidden] == [error[: len(forbidden)] for error in errors]


def test_a_rule_that_does_not_compile_uses_no_old_value() -> None:
    """So what it says of a missing one is refused with it."""
    rule = {"rule": "self.oops == 1", "optionalOldSelf": True}
    errors = DEFINITIONS.create_errors(
        definition(version(schema={"type": "object", "x-kubernetes-validations": [rule]}))
    )

    place = f"{SHARED}.x-kubernetes-validations[0]"
    assert [f"{place}.rule", f"{place}.optionalOldSelf"] == [error.partition(": ")[0] for error in errors]


def test_a_version_that_is_there_twice_is_missed_once() -> None:
    """In what objects are stored in, as its second mention finds nothing any more."""
    errors = DEFINITIONS.create_errors(definition(version(), version()))

    assert "must have the storage version v1" in errors[-1]


def test_schemas_nobody_may_refer_to_are_looked_into_all_the_same() -> None:
    """Definitions are refused with all that is wrong in them."""
    schema = {"type": "object", "definitions": {"a": {"type": "x"}}}
    errors = DEFINITIONS.create_errors(definition(version(schema=schema)))

    places = [f"{SHARED}.definitions", f"{SHARED}.definitions[a].type"]
    assert places == [error.partition(": ")[0] for error in errors][:2]
