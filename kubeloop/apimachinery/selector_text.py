"""The text form of label selectors, as in `?labelSelector=app in (a,b),tier!=back,!canary,env`.

    selector    = [ requirement { "," requirement } ]
    requirement = [ "!" ] key | key ( "in" | "notin" ) "(" values ")" | key ( "=" | "==" | "!=" | ">" | "<" ) [ value ]

`parse` is what the API server, the client and the CLI call; its errors are worded as labels.Parse words them (v1.36).
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from kubeloop.apimachinery import field, selectors, validation
from kubeloop.apimachinery.selectors import Requirement, Selector, SelectorError

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n]+)|$)")
_BINARY_OPERATORS = {
    "in": selectors.IN,
    "notin": selectors.NOT_IN,
    "=": selectors.EQUALS,
    "==": selectors.DOUBLE_EQUALS,
    "!=": selectors.NOT_EQUALS,
    ">": selectors.GREATER,
    "<": selectors.LESS,
}


class Token(NamedTuple):
    """A sign (`is_word` False), a word, or, with no text at all, the end."""

    text: str
    is_word: bool = False


_END = Token("")


def parse(text: str) -> Selector:
    """The selector that `text` spells; no text selects everything. SelectorError where it is malformed."""
    if not text:
        return selectors.EVERYTHING
    return Selector(_Parser(text).selector())


class _Parser:
    """A recursive descent over the tokens, one token ahead."""

    def __init__(self, text: str) -> None:
        self._tokens = _scan(text)
        self._position = 0

    def selector(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        token = self._peek()
        while token != _END:
            if not _may_begin(token):
                _refuse(token, "!, identifier, or 'end of string'")
            requirements.append(self._requirement_in_context())
            separator = self._next()
            token = self._peek() if separator.text == "," else separator
            if separator.text == "," and not _may_begin(token):
                _refuse(token, "identifier after ','")
            if separator.text not in ("", ","):
                _refuse(separator, "',' or 'end of string'")
        return requirements

    def _requirement_in_context(self) -> Requirement:
        try:
            return self._requirement()
        except SelectorError as error:
            raise SelectorError(f"unable to parse requirement: {error}") from None

    def _requirement(self) -> Requirement:
        is_negated = self._peek().text == "!"
        if is_negated:
            self._next()
        key = self._key()
        if is_negated:
            return selectors.requirement(key, selectors.DOES_NOT_EXIST)
        if self._peek().text in ("", ","):
            return selectors.requirement(key, selectors.EXISTS)
        operator = self._operator()
        values = self._values() if operator in (selectors.IN, selectors.NOT_IN) else {self._value()}
        return selectors.requirement(key, operator, sorted(values))

    def _key(self) -> str:
        token = self._next()
        if not token.is_word:
            _refuse(token, "identifier")
        if reasons := validation.qualified_name_errors(token.text):
            # The real parser names no field here, which Go prints as <nil>.
            raise SelectorError(str(field.invalid("<nil>", token.text, "; ".join(reasons))))
        return token.text

    def _operator(self) -> str:
        token = self._next()
        if token.text not in _BINARY_OPERATORS:
            _refuse(token, "in, notin, =, ==, !=, gt, lt")
        return _BINARY_OPERATORS[token.text]

    def _value(self) -> str:
        if self._peek().text in ("", ","):
            return ""
        token = self._next()
        if not token.is_word:
            _refuse(token, "identifier")
        return token.text

    def _values(self) -> set[str]:
        opening = self._next()
        if opening.text != "(":
            raise SelectorError(f"found '{opening.text}' expected: '('")
        token = self._peek()
        if token.text == ")":
            self._next()
            return {""}
        if not token.is_word and token.text != ",":
            _refuse(token, "',', ')' or identifier")
        values = self._listed_values()
        self._next()  # the closing parenthesis, at which the list ended
        return values

    def _listed_values(self) -> set[str]:
        """The values before `)`; where a comma has nothing on one side, "" is one of them."""
        values: set[str] = set()
        while True:
            token = self._next()
            following = self._peek()
            if token.is_word:
                values.add(token.text)
                if following.text == ")":
                    return values
                if following.text != ",":
                    _refuse(following, "',' or ')'")
            elif token.text == ",":
                if not values or following.text in (",", ")"):
                    values.add("")
                if following.text == ")":
                    return values
                if following.text == ",":
                    self._next()  # the real parser takes it too, so a list may not end after it
            else:
                _refuse(token, "',', or identifier")

    def _peek(self) -> Token:
        return self._tokens[self._position]

    def _next(self) -> Token:
        token = self._tokens[self._position]
        if token != _END:
            self._position += 1
        return token


def _scan(text: str) -> list[Token]:
    tokens = [Token(match[1] or match[2] or "", bool(match[2])) for match in _TOKEN.finditer(text)]
    return [*(token for token in tokens if token != _END), _END]


def _may_begin(token: Token) -> bool:
    return token.is_word or token.text == "!"


def _refuse(token: Token, expected: str) -> NoReturn:
    raise SelectorError(f"found '{token.text}', expected: {expected}")
