"""The codec of one kind: what a real API server makes of a JSON value when it decodes it into Go and writes it again.

`Codec.decode` checks every value's JSON type, drops fields the kind does not know and values Go would leave out
(omitempty, omitzero), adds what Go always writes (`resources: {}` of a container), and brings quantities, times and
base64 text into their usual spelling. It is on the path of every write, so it is one pass of closures that are
compiled from TypeNodes on first use. That pass only notices that something is wrong; `explanation` then walks the same
value again, as slowly as it likes, to say what in Go's words.

The result shares no list or map of a known type with its input, but for what was decoded before; values of type `any`
are passed on as they are.
Defaults and validation belong to the strategies in `apiserver.resources`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.schema.compiler import Compiler
from apiserver.schema.decoders import Mismatch
from apiserver.schema.explanation import DecodeError, explain
from apiserver.schema.json_syntax import TOO_DEEP
from apiserver.schema.json_text import NumberLiteral, has_duplicate_keys, parse_pairs
from apiserver.schema.nodes import TypeNode
from apiserver.schema.repeated_keys import merged
from kubeloop.apimachinery.values import value

__all__ = ["Codec", "DecodeError", "Decoded"]

Object = dict[str, Any]


@value
class Decoded:
    """A decoded object, and what strict field validation has against it, in the real server's words and order."""

    object: Object
    problems: Sequence[str] = ()  # 'unknown field "spec.foo"', 'duplicate field "data.k"'

    @property
    def unknown(self) -> list[str]:
        """The paths of the unknown fields."""
        prefix = 'unknown field "'
        return [problem[len(prefix) : -1] for problem in self.problems if problem.startswith(prefix)]


class Codec:
    """Decodes values of one type."""

    def __init__(self, node: TypeNode, compiler: Compiler) -> None:
        self.node = node
        self._decode = compiler.decoder(node)
        self._decode_changed = compiler.decoder_of_changed(node)

    def decode(self, value: Any, *, raw: bytes = b"", known: Object | None = None) -> Decoded:
        """`value` as the real server would store it. Raises DecodeError.

        `raw` is the JSON text that `value` was parsed from. Only it tells which keys were repeated and how numbers
        were spelled, which errors (`number 1.0`) and quantities given as fractions need. `known` was decoded before:
        fields of `value` that are the very ones of it are passed on.
        """
        try:
            if raw and has_duplicate_keys(raw, value):
                return self._decode_exactly(merged(parse_pairs(raw), self.node), raw)
            return self._decode_quickly(value, raw, known)
        except RecursionError:
            raise DecodeError(TOO_DEEP) from None

    def _decode_quickly(self, value: Any, raw: bytes, known: Object | None) -> Decoded:
        unknown: list[str] = []
        try:
            decoded = self._decode_changed(value, known, unknown) if known else self._decode(value, unknown)
        except Mismatch:
            # An error after all, or a fraction that stands for a quantity.
            return self._decode_exactly(NumberLiteral.parse(raw) if raw else NumberLiteral.spelled(value), raw)
        return Decoded(decoded, explain(self.node, value, raw) if unknown else ())

    def _decode_exactly(self, literal: Any, raw: bytes) -> Decoded:
        """Fails in Go's words or decodes a value whose numbers keep their spelling."""
        problems = explain(self.node, literal, raw)
        return Decoded(self._decode(literal, []), problems)
