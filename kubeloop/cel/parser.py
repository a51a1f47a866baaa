"""CEL's grammar: text to syntax tree, macros recognised on the way.

Messages of syntax errors are those of cel-go's ANTLR parser for the mistakes people make: something missing at the
end, something left over, a bracket that is not closed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NoReturn

from kubeloop.cel import macros
from kubeloop.cel.lexer import END, Token, tokens
from kubeloop.cel.syntax import Call, Ident, ListNode, Literal, MapNode, Node, Problem, Problems, Select, Struct
from kubeloop.cel.values import UInt

_BINARY: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("==", "!=", "<", "<=", ">", ">=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
RESERVED = frozenset(
    (
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    )
)
_STARTS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_FIELD_STARTS = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
_KEY_STARTS = (
    "{'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, IDENTIFIER}"
)
TOO_DEEP = "expression recursion limit exceeded: 250"  # cel-go's words; the limit is lower here
_MAX_DEPTH = 100


def parse(source: str, has_bindings: bool = False) -> Node:
    """The tree of an expression. Raises CompileError. `has_bindings`: whether cel.bind is known."""
    return _Parser(source, has_bindings).whole()


class _GivenUp(Exception):
    """What is wrong was noted, and nothing sensible follows."""


class _Parser:
    def __init__(self, source: str, has_bindings: bool) -> None:
        self._source, self._has_bindings = source, has_bindings
        self._tokens, self._problems = tokens(source)
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        """Some mistakes are passed over, so that others are found too; the rest end it."""
        try:
            node = self._expression()
            if self._peek().kind != "end":
                token = self._peek()
                is_alone = self._tokens[self._next + 1].kind == "end"
                self._fail(token, f"{'extraneous' if is_alone else 'mismatched'} input '{token.text}' expecting {END}")
        except _GivenUp:
            pass
        if self._problems:
            raise Problems(self._source, self._problems)
        return node

    # -- operators, from the loosest ------------------------------------------------------------------------------

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise Problems(self._source, [Problem(self._peek().position, TOO_DEEP)])
        condition = self._binary(0)
        if (question := self._accept("?")) is not None:
            yes = self._binary(0)
            self._expect(":")
            condition = Call(question.position, "_?_:_", None, [condition, yes, self._expression()])
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> Node:
        if level == len(_BINARY):
            return self._unary()
        left = self._binary(level + 1)
        while (token := self._accept(*_BINARY[level])) is not None:
            name = "@in" if token.text == "in" else f"_{token.text}_"
            left = Call(token.position, name, None, [left, self._binary(level + 1)])
        return left

    def _unary(self) -> Node:
        if (token := self._accept("!")) is not None:
            return Call(token.position, "!_", None, [self._unary()])
        if (token := self._accept("-")) is not None:
            following = self._peek()
            if following.kind == "literal" and type(following.value) in (int, float):
                self._next += 1
                if type(following.value) is int and following.value > 2**63:
                    self._refuse(token, "invalid int literal")
                return self._member(Literal(token.position, -following.value))
            return Call(token.position, "-_", None, [self._unary()])
        return self._member(self._primary())

    # -- members --------------------------------------------------------------------------------------------------

    def _member(self, node: Node) -> Node:
        while (token := self._accept(".", "[")) is not None:
            node = self._after_dot(node, token) if token.text == "." else self._index(node, token)
        return node

    def _after_dot(self, node: Node, dot: Token) -> Node:
        is_optional = self._accept("?") is not None
        name = self._peek()
        if name.kind == "ident" and name.text in ("true", "false", "null"):
            self._fail(name, f"mismatched input '{name.text}' expecting IDENTIFIER")
        if name.kind not in ("ident", "quoted") or (name.kind == "ident" and name.text == "in"):
            if name.kind == "end":
                self._fail(name, "no viable alternative at input '.'")
            self._fail(name, f"no viable alternative at input '.{name.text}'")
        self._next += 1
        if not is_optional and (opening := self._accept("(")) is not None:
            return self._call(opening.position, name.text, node, self._arguments(")"))
        return Select(dot.position, node, name.text, is_optional=is_optional)

    def _index(self, node: Node, bracket: Token) -> Node:
        name = "_[?_]" if self._accept("?") is not None else "_[_]"
        index = self._expression()
        self._expect("]")
        return Call(bracket.position, name, None, [node, index])

    def _call(self, position: int, name: str, target: Node | None, arguments: Sequence[Node]) -> Node:
        try:
            if self._has_bindings and (bound := macros.binding(position, name, target, arguments)) is not None:
                return bound
            return macros.expanded(position, name, target, arguments) or Call(position, name, target, arguments)
        except macros.MacroError as error:
            self._problems.append(Problem(error.position, str(error)))
            return Literal(position, None)

    # -- primaries ------------------------------------------------------------------------------------------------

    def _primary(self) -> Node:
        token = self._peek()
        self._next += 1
        if token.kind == "literal":
            return self._literal(token)
        if token.kind == "ident" or token.text == ".":
            return self._named(token)
        match token.text:
            case "(":
                node = self._expression()
                self._expect(")")
                return node
            case "[":
                return self._list(token)
            case "{":
                return self._map(token)
        return self._unexpected(token, _STARTS)

    def _unexpected(self, token: Token, expected: str) -> Node:
        """Where a value should begin: a token too many is passed over if a value follows."""
        following = self._peek() if token.kind != "end" else token
        if token.kind != "end" and _may_begin(following):
            self._note(token, f"extraneous input '{token.text}' expecting {expected}")
            return self._primary()
        self._note(token, f"mismatched input '{token.text}' expecting {expected}")
        if token.kind != "end" and following.kind == "end":
            self._note(following, f"mismatched input '{following.text}' expecting {_STARTS}")
        raise _GivenUp

    def _literal(self, token: Token) -> Node:
        value = token.value
        if type(value) is int and value > 2**63 - 1:
            self._refuse(token, "invalid int literal")
        if type(value) is UInt and value > 2**64 - 1:
            self._refuse(token, "invalid uint literal")
        if type(value) is float and math.isinf(value):
            self._refuse(token, "invalid double literal")
        return Literal(token.position, value)

    def _named(self, token: Token) -> Node:
        dot = ""  # before a name that is looked for outside of all comprehensions
        if token.text == ".":
            token = self._peek()
            if token.kind != "ident":
                self._fail(token, f"no viable alternative at input '.{'' if token.kind == 'end' else token.text}'")
            self._next += 1
            dot = "."
        constants = {"true": True, "false": False, "null": None}
        if token.text in constants:
            return Literal(token.position, constants[token.text])
        if token.text == "in":
            return self._unexpected(token, _STARTS)
        if token.text in RESERVED:
            self._problems.append(Problem(token.position, f"reserved identifier: {token.text}"))
            return Literal(token.position, None)
        if (opening := self._accept("(")) is not None:
            return self._call(opening.position, token.text, None, self._arguments(")"))
        return self._struct_or_ident(token, dot)

    def _struct_or_ident(self, token: Token, dot: str) -> Node:
        """A name, or `Some.name{…}`, whose dots belong to the name of a type."""
        end, name = self._next, token.text
        while self._tokens[end].text == "." and self._tokens[end + 1].kind == "ident":
            name += f".{self._tokens[end + 1].text}"
            end += 2
        if self._tokens[end].text == "{" and self._tokens[end].kind == "operator":
            self._next = end + 1
            return self._struct(self._tokens[end], name)
        return Ident(token.position, token.text, f"{dot}{token.text}")

    def _struct(self, opening: Token, name: str) -> Node:
        entries: list[tuple[str, Node]] = []
        optional = set()
        while self._accept("}") is None:
            if self._accept("?") is not None:
                optional.add(len(entries))
            key = self._peek()
            if key.kind not in ("ident", "quoted"):
                is_followed = self._tokens[self._next + 1].kind in ("ident", "quoted") if key.kind != "end" else False
                what = "extraneous" if is_followed else "mismatched"
                self._fail(key, f"{what} input '{key.text}' expecting {_FIELD_STARTS}")
            self._next += 1
            self._expect(":")
            entries.append((key.text, self._expression()))
            if self._accept(",") is None:
                self._expect("}")
                break
        return Struct(opening.position, name, entries, frozenset(optional))

    def _list(self, token: Token) -> Node:
        elements: list[Node] = []
        optional = set()
        while self._accept("]") is None:
            if self._accept("?") is not None:
                optional.add(len(elements))
            elements.append(self._expression())
            if self._accept(",") is None:
                self._expect("]")
                break
        return ListNode(token.position, elements, frozenset(optional))

    def _map(self, token: Token) -> Node:
        entries: list[tuple[Node, Node]] = []
        optional = set()
        while self._accept("}") is None:
            if self._accept("?") is not None:
                optional.add(len(entries))
            if not entries and not _may_begin(self._peek()):
                self._next += 1
                key = self._member(self._unexpected(self._tokens[self._next - 1], _KEY_STARTS))
            else:
                key = self._expression()
            self._expect(":")
            entries.append((key, self._expression()))
            if self._accept(",") is None:
                self._expect("}")
                break
        return MapNode(token.position, entries, frozenset(optional))

    def _arguments(self, closing: str) -> list[Node]:
        found: list[Node] = []
        if self._accept(closing) is not None:
            return found
        while True:
            found.append(self._expression())
            if self._accept(",") is None:
                self._expect(closing)
                return found

    # -- tokens ---------------------------------------------------------------------------------------------------

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _accept(self, *texts: str) -> Token | None:
        token = self._tokens[self._next]
        if token.text in texts and (token.kind == "operator" or token.text == "in"):
            self._next += 1
            return token
        return None

    def _expect(self, text: str) -> Token:
        token = self._accept(text)
        if token is None:
            found = self._peek()
            what = (
                f"missing '{text}' at '{found.text}'"
                if found.kind == "end"
                else (f"mismatched input '{found.text}' expecting '{text}'")
            )
            self._fail(found, what)
        return token

    def _note(self, token: Token, message: str) -> None:
        self._problems.append(Problem(token.position, f"Syntax error: {message}"))

    def _refuse(self, token: Token, message: str) -> NoReturn:
        self._problems.append(Problem(token.position, message))
        raise _GivenUp

    def _fail(self, token: Token, message: str) -> NoReturn:
        self._note(token, message)
        raise _GivenUp


def _may_begin(token: Token) -> bool:
    """Whether a value can begin with it."""
    return token.kind == "literal" or (token.kind == "ident" and token.text != "in") or token.text in _OPENING


_OPENING = ("[", "{", "(", ".", "-", "!")
