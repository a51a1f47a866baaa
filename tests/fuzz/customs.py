"""Custom resources: two definitions in order, which the run makes first, and any number of others."""

from __future__ import annotations

import random
from typing import Any

from tests.fuzz import junk

CUSTOM_PATHS = (
    "/apis/example.com/v1/namespaces/NS/solids",
    "/apis/example.com/v2/namespaces/NS/solids",
    "/apis/example.com/v1/loose",
    "/apis/example.com/v1/namespaces/NS/fuzzes",
)
_SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 0, "maximum": 100, "default": 1, "multipleOf": 1},
        "replicas": {"type": "integer", "format": "int32"},
        "mode": {"type": "string", "enum": ["a", "b"], "maxLength": 10, "pattern": "^[a-z]*$"},
        "when": {"type": "string", "format": "date-time"},
        "port": {"x-kubernetes-int-or-string": True},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": 5},
        "parts": {
            "type": "array",
            "maxItems": 10,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 20}, "n": {"type": "integer"}}},
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 5},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "pod": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "maybe": {"type": "string", "nullable": True},
    },
    "x-kubernetes-validations": [
        {"rule": "self.size <= 50 || has(self.mode)", "message": "big ones need a mode"},
        {"rule": "!has(oldSelf.mode) || has(self.mode)", "messageExpression": "'mode ' + oldSelf.mode", "reason": "FieldValueForbidden"},
        {"rule": "!has(self.parts) || self.parts.all(p, p.name.size() < 10)"},
    ],
}  # fmt: skip
_RULES = (
    "self.size > 0",
    "has(self.mode)",
    "self.parts.exists(p, p.n > 1)",
    "oldSelf.size <= self.size",
    "self.tags.all(t, t.matches('a+'))",
    "self.ratio / 2.0 > 1.0",
    "self.when < timestamp('2026-01-01T00:00:00Z')",
    "self.x",
    "1 + ",
    "quantity(self.mode).isLessThan(quantity('1'))",
)


def _definition(plural: str, kind: str, scope: str, versions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"plural": plural, "kind": kind},
            "versions": versions,
        },
    }


def _version(name: str, spec: dict[str, Any], storage: bool) -> dict[str, Any]:
    status = {
        "type": "object",
        "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}},
        "x-kubernetes-preserve-unknown-fields": True,
    }
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}, {"name": "When", "type": "date", "jsonPath": ".spec.when"}, {"name": "N", "type": "string", "jsonPath": ".spec.parts[0].name"}],
        "selectableFields": [{"jsonPath": ".spec.mode"}, {"jsonPath": ".spec.size"}],
    }  # fmt: skip


def setup() -> list[dict[str, Any]]:
    """The definitions behind the first three of CUSTOM_PATHS."""
    loose = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    return [
        _definition("solids", "Solid", "Namespaced", [_version("v1", _SPEC, True), _version("v2", _SPEC, False)]),
        _definition("loose", "Loose", "Cluster", [loose]),
    ]


def definition(rng: random.Random) -> dict[str, Any]:
    """One more, of a plural of its own; its schema may have anything in it."""
    version = junk.copied(_version("v1", _SPEC, True))
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["x-kubernetes-validations"][0]["rule"] = rng.choice((*_RULES, junk.text(rng)))
    for _ in range(rng.choice((0, 1, 2))):
        place = rng.choice(list(spec["properties"].values()))
        place[rng.choice(_KEYWORDS)] = junk.value(rng)
    if rng.random() < 0.4:
        spec["x-kubernetes-validations"][1]["rule"] = expression(rng)
    for _ in range(rng.choice((0, 1))):
        name = rng.choice([*spec["properties"]])
        spec["properties"][name]["x-kubernetes-validations"] = [{"rule": rng.choice((*_RULES, junk.text(rng)))}]
    return _definition("fuzzes", "Fuzz", "Namespaced", [version])


_KEYWORDS = (
    "type", "format", "default", "enum", "pattern", "minimum", "maximum", "multipleOf", "minLength", "maxItems", "uniqueItems", "required", "items", "properties", "additionalProperties", "allOf", "anyOf", "oneOf", "not",
    "nullable", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string", "x-kubernetes-embedded-resource", "x-kubernetes-validations",
    "$ref", "definitions", "dependencies", "additionalItems", "patternProperties", "example", "externalDocs", "id", "$schema", "title",
)  # fmt: skip


_TOKENS = (
    "self", "oldSelf", ".", ".size", ".mode", ".parts", ".tags", ".free", "[0]", "[", "]", "(", ")", "{", "}", ",", "?", ":", "==", "!=", "<", ">=", "&&", "||", "!", "-", "+", "*", "/", "%", " in ", ".?", "[?0]",
    ".all(x, ", ".exists(x, ", ".map(x, ", ".filter(x, ", ".exists_one(x, ", "has(", "size(", "int(", "uint(", "double(", "string(", "bytes(", "bool(", "dyn(", "type(", "timestamp(", "duration(", "quantity(", "url(", "ip(", "cidr(", "semver(",
    "cel.bind(x, ", ".matches(", ".contains(", ".startsWith(", ".split(", ".join(", ".replace('a', ", ".substring(", ".indexOf(", ".lowerAscii()", ".format([", ".find(", ".findAll(", ".sum()", ".min()", ".isSorted()", ".getHours()", ".orValue(", ".hasValue()", ".value()", ".charAt(", "sets.contains(", "math.greatest(", "lists.range(",
    "x", "y", "0", "1", "-1", "1u", "1.5", "1e999", "0x7fffffffffffffffff", "9223372036854775808", "9" * 30, "18446744073709551616u", "'a'", "'(a+)+'", "'['", "b'\\xff'", "'\\U00110000'", "'\\ud800'", "r'\\'", "\"\"\"a\"\"\"", "null", "true", "false", "optional.none()", "optional.of(1)", "[1,2]", "{'a':1}", "{1:2,1:3}",
    "int.min", "type", "google.protobuf.Timestamp{}", "a.b.C{d: 1}", "`a-b`", ".`x`", "__x__", "in", "for", "//", "\n", "'", "\\", "#", "$", "é", "\x00", " ",
)  # fmt: skip


def expression(rng: random.Random) -> str:
    """CEL, more or less: pieces that often fit together."""
    way = rng.randrange(10)
    if way == 0:
        return rng.choice(("(", "[", "!", "-", "{1:", "self.all(x, ", "x ? ", "a.", "size(")) * rng.choice(
            (40, 260, 3000)
        )
    if way == 1:
        piece = rng.choice(("self.size + ", "self.size > 0 && ", "self.size > 0 || ", "true ? 1 : ", "'a' + "))
        return piece * rng.choice((30, 300, 2000)) + "1"
    if way == 2:
        opening, closing = rng.choice(
            (("(", ")"), ("[", "]"), ("!(", ")"), ("size([", "])"), ("[1].all(x, ", " == 1)"))
        )
        times = rng.choice((10, 40, 300))
        return opening * times + "1" + closing * times
    if way <= 5:
        return rng.choice(_RULES).replace(rng.choice(("self", "size", "mode", "0", ".")), rng.choice(_TOKENS))
    return "".join(rng.choice(_TOKENS) for _ in range(rng.choice((1, 2, 3, 5, 8, 13))))


def custom_object(rng: random.Random, collection: str) -> dict[str, Any]:
    group_version = "/".join(collection.split("/")[2:4])
    kind = {"solids": "Solid", "loose": "Loose", "fuzzes": "Fuzz"}[collection.rpartition("/")[2]]
    spec: dict[str, Any] = {"size": rng.choice((0, 1, 60, 101)), "mode": rng.choice(("a", "b", "c")), "when": "2026-01-02T03:04:05Z", "port": rng.choice((1, "x")), "tags": ["a", "b"],
            "parts": [{"name": "a", "n": 1}, {"name": "b"}], "free": {"x": [1]}, "maybe": None, "replicas": 2, "ratio": 0.5, "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}}  # fmt: skip
    for key in [key for key in spec if rng.random() < 0.4]:
        del spec[key]
    return {
        "apiVersion": group_version,
        "kind": kind,
        "metadata": {"name": rng.choice("abc")},
        "spec": spec,
        "status": {"replicas": 1, "selector": "a=b"},
    }
