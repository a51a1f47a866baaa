"""What Go says of a value of a wrong type in any field of any kind: a small model, apart from the server's decoders.

It reads what Kubernetes publishes (OpenAPI) and the facts of its types.go files (`go-fields.json`: Go types, embedded
structs), walks them from a kind downwards and writes, for every place a JSON value can stand in, documents with one
wrong value in it, and the error of sigs.k8s.io/json v0.0.0 (Kubernetes v1.36) for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

Definitions = Mapping[str, Mapping[str, Any]]

# Types with an UnmarshalJSON of their own, by the end of their definition's name.
_SPECIAL = {
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "int-or-string",
    "v1.Time": "time",
    "v1.MicroTime": "micro-time",
    "v1.FieldsV1": "any",
    "runtime.RawExtension": "any",
    "v1.JSON": "any",
    "v1.JSONSchemaPropsOrBool": "schema-or-bool",
    "v1.JSONSchemaPropsOrArray": "schema-or-array",
    "v1.JSONSchemaPropsOrStringArray": "schema-or-strings",
}
_WORDS = {'"x"': "string", "7": "number", "true": "bool", "{}": "object", "[]": "array"}
_ACCEPTED = {"string": '"x"', "boolean": "true", "struct": "{}", "list": "[]", "map": "{}"}
_NOT_A_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_LAYOUTS = {"time": "2006-01-02T15:04:05Z07:00", "micro-time": "2006-01-02T15:04:05.000000Z07:00"}
_GO_SCALARS = {"boolean": "bool", "number": "float64"}


class Wrong(NamedTuple):
    """A document with one wrong value, and Go's complaint about it."""

    document: str
    complaint: str


@dataclass(frozen=True, slots=True)
class Place:
    """A place for a JSON value: the text around it, and what Go knows of it when it complains."""

    family: str
    go_type: str
    before: str = ""
    after: str = ""
    struct: str = ""  # the Go struct whose field it is, or lies below of
    path: str = ""  # of JSON names and embedded structs
    is_field: bool = False
    schema: Mapping[str, Any] | None = None
    definition: str = ""

    def holding(self, value: str) -> str:
        return f"{self.before}{value}{self.after}"

    def without(self) -> str:
        """The document in which the struct is there and the field is not."""
        return self.before[: self.before.rindex('"', 0, -2)] + self.after

    def mismatch(self, what: str, go_type: str = "") -> str:
        return (
            f"json: cannot unmarshal {what} into Go struct field {self.struct}.{self.path} "
            f"of type {go_type or self.go_type}"
        )


class Model:
    """All places of all kinds."""

    def __init__(self, definitions: Definitions, go_structs: Mapping[str, list[str]]) -> None:
        self._definitions = definitions
        self._go_structs = go_structs

    def places(self, definition: str) -> Iterator[Place]:
        """Every field of a kind, and the elements of lists and maps; a struct within itself is entered once."""
        root = Place("struct", "", definition=definition, schema=self._definitions[definition])
        yield from self._below(root, (definition,))

    def _below(self, place: Place, above: tuple[str, ...]) -> Iterator[Place]:
        for child in self._children(place):
            yield child
            if child.family != "struct":
                yield from self._below(child, above)
            elif child.definition not in above:
                yield from self._below(child, (*above, child.definition))

    def _children(self, place: Place) -> Iterator[Place]:
        schema = place.schema or {}
        if place.family == "struct":
            for row in self._go_structs.get(place.definition, ()):  # some structs are empty
                yield self._field(place, row, schema["properties"])
        elif place.family == "list":
            go_type = place.go_type.removeprefix("[]") if place.go_type.startswith("[]") else ""
            yield self._element(place, schema["items"], go_type, "[", "]")
        elif place.family == "map":
            go_type = place.go_type.partition("]")[2] if place.go_type.startswith("map[") else ""
            yield self._element(place, schema["additionalProperties"], go_type, '{"k":', "}")

    def _field(self, place: Place, row: str, properties: Mapping[str, Any]) -> Place:
        name, go_type, _, *embedded = row.split(" ")
        child = self._typed(properties[name], go_type.lstrip("*"))
        path = ".".join([*filter(None, [place.path]), *embedded, name])
        struct = place.definition.rpartition(".")[2]
        before, after = f'{place.before}{{"{name}":', f"}}{place.after}"
        return replace(child, before=before, after=after, struct=struct, path=path, is_field=True)

    def _element(self, place: Place, schema: Mapping[str, Any], go_type: str, opened: str, closed: str) -> Place:
        child = self._typed(schema, go_type.lstrip("*"))
        before, after = place.before + opened, closed + place.after
        return replace(child, before=before, after=after, struct=place.struct, path=place.path)

    def _typed(self, schema: Mapping[str, Any], go_type: str) -> Place:
        if "$ref" in schema:
            definition = schema["$ref"].rpartition("/")[2]
            short = ".".join(definition.rsplit(".", 2)[-2:])
            family = _SPECIAL.get(short, "struct")
            return Place(family, go_type or short, schema=self._definitions[definition], definition=definition)
        declared = schema.get("type", "any")
        kind = declared if isinstance(declared, str) else next(name for name in declared if name != "null")
        if kind == "string" and schema.get("format") == "byte":
            return Place("bytes", go_type)
        if kind == "integer":
            return Place(schema["format"], go_type or schema["format"])
        family = {"array": "list", "object": "map"}.get(kind, kind)
        return Place(family, go_type or _GO_SCALARS.get(kind, kind), schema=schema)


def wrong_values(place: Place) -> Iterator[Wrong]:
    """Documents that Go refuses for what stands in the place."""
    for value, complaint in _wrong(place):
        yield Wrong(place.holding(value), complaint)


def _wrong(place: Place) -> Iterator[tuple[str, str]]:
    family = place.family
    if family in ("int32", "int64"):
        yield from _wrong_integers(place, int(family[3:]), place.go_type)
        yield from _wrong_kinds(place, ("7",))
    elif family == "number":
        yield from _wrong_kinds(place, ("7",))
    elif family == "int-or-string":
        yield from _wrong_integers(place, 32, "int32")
        yield from ((value, place.mismatch(_WORDS[value], "int32")) for value in ("true", "{}", "[]"))
    elif family == "quantity":
        yield from ((value, _NOT_A_QUANTITY) for value in ('"1gi"', "true", "{}", "[]"))
    elif family in _LAYOUTS:
        yield from ((value, place.mismatch(_WORDS[value], "string")) for value in ("7", "true", "{}", "[]"))
        yield '"x"', f'parsing time "x" as "{_LAYOUTS[family]}": cannot parse "x" as "2006"'
    elif family == "bytes":
        yield from _wrong_kinds(place, ('"x"', "[]"))
        yield '"YWJj!"', "illegal base64 data at input byte 4"
        yield '["x"]', place.mismatch("string", "uint8")
        yield "[256]", place.mismatch("number 256", "uint8")
    elif family == "schema-or-bool":
        yield from ((value, "boolean or JSON schema expected") for value in ('"x"', "7", "[]"))
    elif family == "schema-or-array":
        yield "[7]", place.mismatch("number", "v1.JSONSchemaProps")
    elif family == "schema-or-strings":
        yield "[7]", place.mismatch("number", "string")
    elif family != "any":
        yield from _wrong_kinds(place, (_ACCEPTED[family],))


def _wrong_kinds(place: Place, right: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    yield from ((value, place.mismatch(word)) for value, word in _WORDS.items() if value not in right)


def _wrong_integers(place: Place, bits: int, go_type: str) -> Iterator[tuple[str, str]]:
    beyond = 1 << (bits - 1)
    for value in ("1.5", "1e2", "1.0", str(beyond), str(-beyond - 1), "99999999999999999999"):
        yield value, place.mismatch(f"number {value}", go_type)
