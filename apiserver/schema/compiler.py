"""Makes decoders of TypeNodes: one closure a field, made when the first object of a struct comes by.

Which values a field leaves out, keeps or always shows is decided here, once, from the Go facts of its node. `codec`
is the only caller.
"""

from __future__ import annotations

from typing import Any

from apiserver.schema import decoders
from apiserver.schema.decoders import OMITTED, Decode, DecodeChanged, Mismatch, Zero
from apiserver.schema.nodes import Omit, TypeNode

Object = dict[str, Any]

_INTEGER_BITS = {"int32": 31, "int64": 63, "uint8": 8}


class Compiler:
    """Makes decoders of nodes; one for a schema, so that kinds share the decoders of the structs they share."""

    def __init__(self) -> None:
        self._structs: dict[str, _Struct] = {}

    def decoder(self, node: TypeNode) -> Decode:
        """The decoder of a value that is there and may be null, which means its zero value."""
        match node.type:
            case "object":
                return self._struct(node).decode
            case "list" if node.items is not None:
                return decoders.list_of(self.decoder(node.items))
            case "map" if node.values is not None:
                is_plain = node.values.type == "string"
                return decoders.map_of_strings if is_plain else decoders.map_of(self.decoder(node.values))
            case "schema-or-bool" | "schema-or-list" | "schema-or-strings" if node.items is not None:
                return decoders.schema_or_other(node.type, self.decoder(node.items))
            case "integer":
                return decoders.integer(_INTEGER_BITS.get(node.format or node.go_type, 63))
            case _:
                return decoders.SCALARS[node.type]

    def decoder_of_changed(self, node: TypeNode) -> DecodeChanged:
        """The decoder of an object of which another was decoded before."""
        return self._struct(node).decode_changed

    def zero(self, node: TypeNode) -> Zero:
        """Makes what Go writes for the zero value of a type."""
        if node.is_pointer or node.type in ("list", "map"):
            return decoders.null
        if node.type == "object":
            return self._struct(node).zero
        value = decoders.ZEROES.get(node.type)
        return lambda: value

    def field(self, node: TypeNode) -> Decode:
        """The decoder of a field, which returns OMITTED for what Go would not write."""
        decode = self.decoder(node)
        if node.is_pointer or (node.type == "bytes" and node.omit is Omit.NEVER):
            return decoders.unless_null(decode)
        if node.omit is Omit.ZERO:
            return decoders.unless_zero(decode, self.zero(node))
        if node.type in ("list", "map"):
            return decoders.unless_empty(decode)
        if node.is_go_value or node.omit is Omit.NEVER:
            return decode
        return decoders.string_unless_empty if node.type == "string" else decoders.unless_empty(decode)

    def always_written(self, node: TypeNode) -> bool:
        """Whether JSON shows the field even where nothing was sent."""
        return node.omit is Omit.NEVER or (node.omit is Omit.EMPTY and node.is_go_value)

    def _struct(self, node: TypeNode) -> _Struct:
        # Structs written in place (custom resources) have no name to share them by.
        if not node.name:
            return _Struct(node, self)
        if node.name not in self._structs:
            self._structs[node.name] = _Struct(node, self)
        return self._structs[node.name]


class _Struct:
    """The decoder of an object with known fields; its table is made when the first such object comes by."""

    def __init__(self, node: TypeNode, compiler: Compiler) -> None:
        self._node = node
        self._compiler = compiler
        self._decoders: dict[str, Decode] = {}
        self._always: list[tuple[str, Zero]] = []
        self._is_compiled = False

    def decode(self, value: Any, unknown: list[str]) -> Object:
        if type(value) is not dict:
            if value is not None:
                raise Mismatch
            value = {}
        if not self._is_compiled:
            self._compile()
        by_key = self._decoders
        decoded = {}
        for key, item in value.items():
            decode = by_key.get(key)
            if decode is None:
                unknown.append(key)
                continue
            item = decode(item, unknown)
            if item is not OMITTED:
                decoded[key] = item
        for key, zero in self._always:
            if key not in decoded:
                decoded[key] = zero()
        return decoded

    def decode_changed(self, value: Any, known: Object, unknown: list[str]) -> Object:
        """The same, where fields that are those of `known`, which is decoded, are passed on."""
        if type(value) is not dict:
            return self.decode(value, unknown)
        same = {key: item for key, item in value.items() if known.get(key, OMITTED) is item}
        return {**self.decode({key: item for key, item in value.items() if key not in same}, unknown), **same}

    def zero(self) -> Object:
        return self.decode(None, [])

    def _compile(self) -> None:
        compiler = self._compiler
        for key, node in self._node.fields.items():
            self._decoders[key] = compiler.field(node)
            if compiler.always_written(node):
                self._always.append((key, compiler.zero(node)))
        self._is_compiled = True
