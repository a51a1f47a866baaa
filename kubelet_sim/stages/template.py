"""The part of Go's text/template that stages are written in, and nothing that could do harm.

    {{ .spec.nodeName }}  {{ $now := Now }}  {{ $now | Quote }}  {{ index .metadata.annotations "a/b" }}
    {{ if eq .name "app" }}…{{ else if …}}…{{ else }}…{{ end }}  {{ with .x }}…{{ end }}
    {{ range .spec.containers }}…{{ end }}  {{ range $i, $one := .spec.containers }}…{{ end }}

Fields that are not there are empty. Functions are those that are given, and `or and not eq ne index dict len default`.
A template only goes through lists of its object, so it always ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubelet_sim.stages.expression import StageError

Functions = Mapping[str, Callable[..., Any]]
Scope = dict[str, Any]  # variables by name, `.` among them
Eval = Callable[[Scope, Functions], Any]
Render = Callable[[Scope, Functions], str]

_ACTION = re.compile(r"\{\{(-?)(.*?)(-?)\}\}", re.DOTALL)
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|`[^`]*`)|(?P<number>-?\d+(?:\.\d+)?)|(?P<var>\$\w*)(?P<of>(?:\.\w+)*)"""
    r"""|(?P<dot>(?:\.\w+)+|\.)|(?P<name>[A-Za-z]\w*)|(?P<sign>:=|[()|,=]))"""
)
_CONSTANTS = {"true": True, "false": False, "nil": None}


class Template:
    """Raises StageError where the text cannot be understood, or names a function that is not among `names`."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self._names = {*names, *_BUILT_IN}
        self._parts = _parts(text)
        self._render = self._block(set())
        if self._parts:
            raise StageError(f"{{{{ {self._parts[0][1]} }}}} closes nothing")

    def render(self, obj: Any, functions: Functions) -> str:
        return self._render({".": obj, "$": obj}, {**_BUILT_IN, **functions})

    # --- blocks

    def _block(self, ends: set[str]) -> Render:
        """Up to one of `ends`, which stays."""
        renders: list[Render] = []
        while self._parts:
            is_action, text = self._parts[0]
            word = text.split(None, 1)[0] if is_action and text else ""
            if word in ("end", "else"):
                break
            self._parts.pop(0)
            renders.append(self._action(word, text) if is_action else _literal(text))
        if ends and not self._parts:
            raise StageError(f"{{{{ {' or '.join(sorted(ends))} }}}} is missing")
        return lambda scope, functions: "".join(render(scope, functions) for render in renders)

    def _action(self, word: str, text: str) -> Render:
        rest = text[len(word) :].strip()
        if word == "if":
            return self._if(rest)
        if word == "with":
            return self._with(rest)
        if word == "range":
            return self._range(rest)
        variable = re.match(r"(\$\w+)\s*:?=\s*(.*)", text, re.DOTALL)
        if variable:
            return self._assign(variable[1], self._pipeline(variable[2]))
        evaluate = self._pipeline(text)
        return lambda scope, functions: _spelled(evaluate(scope, functions))

    def _if(self, condition: str) -> Render:
        holds, then, otherwise = self._pipeline(condition), self._block({"end", "else"}), self._otherwise()
        return lambda scope, functions: (then if holds(scope, functions) else otherwise)(scope, functions)

    def _with(self, text: str) -> Render:
        evaluate, then, otherwise = self._pipeline(text), self._block({"end", "else"}), self._otherwise()

        def render(scope: Scope, functions: Functions) -> str:
            value = evaluate(scope, functions)
            return then({**scope, ".": value}, functions) if value else otherwise(scope, functions)

        return render

    def _range(self, text: str) -> Render:
        match = re.match(r"(?:(\$\w+)\s*,\s*)?(\$\w+)\s*:=\s*(.*)", text, re.DOTALL)
        index, variable, over = match.groups() if match else (None, None, text)
        evaluate, each, otherwise = self._pipeline(over), self._block({"end", "else"}), self._otherwise()

        def render(scope: Scope, functions: Functions) -> str:
            values = evaluate(scope, functions) or ()
            entries = sorted(values.items()) if isinstance(values, Mapping) else list(enumerate(values))
            if not entries:
                return otherwise(scope, functions)
            texts = []
            for i, one in entries:
                inner = {**scope, ".": one}
                inner |= {name: value for name, value in ((index, i), (variable, one)) if name}
                texts.append(each(inner, functions))
            return "".join(texts)

        return render

    def _otherwise(self) -> Render:
        """The rest of a block that has begun: an `else`, or nothing; its end is taken."""
        _, text = self._parts.pop(0)
        if text == "end":
            return _literal("")
        rest = text.removeprefix("else").strip()
        if rest.startswith("if "):
            return self._if(rest.removeprefix("if "))
        render = self._block({"end"})
        self._parts.pop(0)
        return render

    def _assign(self, name: str, evaluate: Eval) -> Render:
        def render(scope: Scope, functions: Functions) -> str:
            scope[name] = evaluate(scope, functions)
            return ""

        return render

    # --- pipelines

    def _pipeline(self, text: str) -> Eval:
        tokens = _tokens(text)
        evaluate = self._pipe(tokens)
        if tokens:
            raise StageError(f"{{{{ {text} }}}}: {tokens[0][1]!r} was not expected")
        return evaluate

    def _pipe(self, tokens: list[tuple[str, str]]) -> Eval:
        evaluate = self._command(tokens, None)
        while tokens and tokens[0][1] == "|":
            tokens.pop(0)
            evaluate = self._command(tokens, evaluate)
        return evaluate

    def _command(self, tokens: list[tuple[str, str]], piped: Eval | None) -> Eval:
        if not tokens:
            raise StageError("an empty pipeline")
        if tokens[0][0] == "name" and tokens[0][1] not in _CONSTANTS:
            return self._call(tokens.pop(0)[1], self._operands(tokens), piped)
        operands = self._operands(tokens)
        if len(operands) != 1 or piped is not None:
            raise StageError("only functions take arguments")
        return operands[0]

    def _call(self, name: str, operands: Sequence[Eval], piped: Eval | None) -> Eval:
        if name not in self._names:
            raise StageError(f"there is no function {name}: there are {', '.join(sorted(self._names))}")
        arguments = [*operands, *([piped] if piped else [])]

        def call(scope: Scope, functions: Functions) -> Any:
            try:
                return functions[name](*(evaluate(scope, functions) for evaluate in arguments))
            except (TypeError, LookupError, ValueError) as error:
                raise StageError(f"{name}: {error}") from error

        return call

    def _operands(self, tokens: list[tuple[str, str]]) -> list[Eval]:
        operands: list[Eval] = []
        while tokens and tokens[0][1] not in ("|", ")"):
            kind, text = tokens.pop(0)
            if text == "(":
                operands.append(self._pipe(tokens))
                if not tokens or tokens.pop(0)[1] != ")":
                    raise StageError("a parenthesis is not closed")
            elif kind == "name" and text not in _CONSTANTS:
                operands.append(self._call(text, (), None))
            else:
                operands.append(_operand(kind, text))
        return operands


def _parts(text: str) -> list[tuple[bool, str]]:
    """Plain texts and actions, in order; comments are left out."""
    parts: list[tuple[bool, str]] = []
    position, trims = 0, False
    for match in _ACTION.finditer(text):
        plain = text[position : match.start()]
        plain = plain.lstrip() if trims else plain
        parts.append((False, plain.rstrip() if match[1] else plain))
        action = match[2].strip()
        if not action.startswith("/*"):
            parts.append((True, action))
        position, trims = match.end(), bool(match[3])
    rest = text[position:]
    return [*parts, (False, rest.lstrip() if trims else rest)]


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    rest = text.strip()
    while rest:
        match = _TOKEN.match(rest)
        if match is None:
            raise StageError(f"{{{{ {text} }}}}: {rest!r} cannot be read")
        kind = match.lastgroup or ""
        tokens.append(("var", match["var"] + match["of"]) if match["var"] else (kind, match[kind]))
        rest = rest[match.end() :].lstrip()
    return tokens


def _operand(kind: str, text: str) -> Eval:
    if kind == "text":
        value = json.loads(text) if text.startswith('"') else text.strip("`")
        return lambda scope, functions: value
    if kind == "number":
        number = float(text) if "." in text else int(text)
        return lambda scope, functions: number
    if kind in ("dot", "var"):
        name, _, path = text.partition(".")
        steps = [step for step in path.split(".") if step]
        return lambda scope, functions: _field(scope.get(name or "."), steps)
    if text in _CONSTANTS:
        return lambda scope, functions: _CONSTANTS[text]
    raise StageError(f"{text!r} was not expected")


def _literal(text: str) -> Render:
    return lambda scope, functions: text


def _field(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _spelled(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def _or(*values: Any) -> Any:
    return next((value for value in values if value), values[-1])


def _and(*values: Any) -> Any:
    return next((value for value in values if not value), values[-1])


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if isinstance(value, list):
            value = value[key] if isinstance(key, int) and 0 <= key < len(value) else None
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _dict(*pairs: Any) -> dict[str, Any]:
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


_BUILT_IN: Functions = {
    "or": _or,
    "and": _and,
    "not": lambda value: not value,
    "eq": lambda first, *others: first in others,
    "ne": lambda first, second: first != second,
    "index": _index,
    "dict": _dict,
    "len": lambda value: len(value or ()),
    "default": lambda default, value: value or default,
    "Quote": lambda value: json.dumps(_spelled(value)),
}
