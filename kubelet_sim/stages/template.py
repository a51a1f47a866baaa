"""Go's text/template, as stages are written in it, and nothing that could do harm.

    {{ .spec.nodeName }}  {{ $now := Now }}  {{ $now | Quote }}  {{ index .metadata.labels "a/b" }}  {{ (f .).name }}
    {{ if eq .name "app" }}…{{ else if …}}…{{ else }}…{{ end }}  {{ with .x }}…{{ else with .y }}…{{ end }}
    {{ range .spec.containers }}…{{ end }}  {{ range $i, $one := .spec.containers }}…{{ break }}…{{ end }}

Fields that are not there are empty. `$x := …` is known until the end of its block, `$x = …` changes it wherever it is
from. Templates within templates (`define`, `template`, `block`) are refused. What a template may cost is bounded
(budget.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from kubelet_sim.stages.budget import TURN, Budget
from kubelet_sim.stages.expression import StageError
from kubelet_sim.stages.functions import BUILT_IN, spelled

Functions = Mapping[str, Callable[..., Any]]
# What is known by name: variables and `.`, each in a cell of its own, so that blocks within share it; and the Budget.
Scope = dict[str, list[Any]]
Eval = Callable[[Scope, Functions], Any]
Render = Callable[[Scope, Functions], str]

_ACTION = re.compile(r"""\{\{(-?)((?:[^"`}]|"(?:[^"\\]|\\.)*"|`[^`]*`|\}(?!\}))*?)(-?)\}\}""", re.DOTALL)
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|`[^`]*`)|(?P<number>-?\d+(?:\.\d+)?)|(?P<var>\$\w*)(?P<of>(?:\.\w+)*)"""
    r"""|(?P<dot>(?:\.\w+)+|\.)|(?P<name>[A-Za-z]\w*)|(?P<sign>:=|[()|,=]))"""
)
_ASSIGNMENT = re.compile(r"(\$\w+)\s*(:?=)\s*(.*)", re.DOTALL)
_RANGE = re.compile(r"(?:(\$\w+)\s*,\s*)?(\$\w+)\s*:?=\s*(.*)", re.DOTALL)
_CONSTANTS = {"true": True, "false": False, "nil": None}
_REFUSED = ("define", "template", "block")
_BUDGET = "budget"  # no variable is called so: theirs begin with $
_TOO_DEEP = "the template is nested too deeply"


class _Left(Exception):
    """A `break`, or a `continue`, with what was written before it in its turn."""

    def __init__(self, word: str) -> None:
        self.word, self.text = word, ""


class Template:
    """Raises StageError where the text cannot be understood, or names a function that is not among `names`."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self._names = {*names, *BUILT_IN}
        self._parts = _parts(text.strip())
        self._ranges = 0
        try:
            self._render = self._block(set())
        except RecursionError:
            raise StageError(_TOO_DEEP) from None
        if self._parts:
            raise StageError(f"{{{{ {self._parts[0][1]} }}}} closes nothing")

    def render(self, obj: Any, functions: Functions) -> str:
        """Raises StageError where a function refuses what it is given, or the budget is spent."""
        try:
            return self._render({".": [obj], "$": [obj], _BUDGET: [Budget()]}, {**BUILT_IN, **functions})
        except RecursionError:
            raise StageError(_TOO_DEEP) from None

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
        return _sequence(renders)

    def _action(self, word: str, text: str) -> Render:
        rest = text[len(word) :].strip()
        if word == "if":
            return self._if(rest)
        if word == "with":
            return self._with(rest)
        if word == "range":
            return self._range(rest)
        if word in ("break", "continue"):
            return self._leave(word)
        if word in _REFUSED:
            raise StageError(f"{{{{ {text} }}}}: templates within templates are not understood")
        assignment = _ASSIGNMENT.match(text)
        if assignment:
            return self._assign(assignment[1], assignment[2] == ":=", self._pipeline(assignment[3]))
        evaluate = self._pipeline(text)
        return _spelling(evaluate)

    def _if(self, text: str) -> Render:
        name, holds = self._condition(text)
        then, otherwise = self._block({"end", "else"}), self._otherwise()

        def render(scope: Scope, functions: Functions) -> str:
            value = holds(scope, functions)
            inner = {**scope, name: [value]} if name else dict(scope)
            return (then if value else otherwise)(inner, functions)

        return render

    def _with(self, text: str) -> Render:
        name, evaluate = self._condition(text)
        then, otherwise = self._block({"end", "else"}), self._otherwise()

        def render(scope: Scope, functions: Functions) -> str:
            value = evaluate(scope, functions)
            inner = {**scope, name: [value]} if name else dict(scope)
            return then({**inner, ".": [value]}, functions) if value else otherwise(inner, functions)

        return render

    def _condition(self, text: str) -> tuple[str, Eval]:
        """With the name of the variable that it is put into, if it is."""
        assignment = _ASSIGNMENT.match(text)
        return (assignment[1], self._pipeline(assignment[3])) if assignment else ("", self._pipeline(text))

    def _range(self, text: str) -> Render:
        match = _RANGE.match(text)
        index, variable, over = match.groups() if match else (None, None, text)
        evaluate = self._pipeline(over)
        self._ranges += 1
        each = self._block({"end", "else"})
        self._ranges -= 1
        otherwise = self._otherwise()

        def render(scope: Scope, functions: Functions) -> str:
            entries = _entries(evaluate(scope, functions))
            if not entries:
                return otherwise(dict(scope), functions)
            texts = []
            for i, one in entries:
                scope[_BUDGET][0].spend(TURN)
                inner = {**scope, ".": [one]}
                inner |= {name: [value] for name, value in ((index, i), (variable, one)) if name}
                try:
                    texts.append(each(inner, functions))
                except _Left as left:
                    texts.append(left.text)
                    if left.word == "break":
                        break
            return "".join(texts)

        return render

    def _leave(self, word: str) -> Render:
        if not self._ranges:
            raise StageError(f"{{{{ {word} }}}} stands in no range")

        def render(scope: Scope, functions: Functions) -> str:
            raise _Left(word)

        return render

    def _otherwise(self) -> Render:
        """The rest of a block that has begun: an `else`, or nothing; its end is taken."""
        _, text = self._parts.pop(0)
        if text == "end":
            return _literal("")
        word, _, rest = text.removeprefix("else").strip().partition(" ")
        if word == "if":
            return self._if(rest)
        if word == "with":
            return self._with(rest)
        if word:
            raise StageError(f"{{{{ {text} }}}}: {word!r} was not expected")
        render = self._block({"end"})
        _, text = self._parts.pop(0)
        if text != "end":
            raise StageError(f"{{{{ {text} }}}} after an else")
        return render

    def _assign(self, name: str, is_new: bool, evaluate: Eval) -> Render:
        def render(scope: Scope, functions: Functions) -> str:
            value = evaluate(scope, functions)
            if is_new:
                scope[name] = [value]
            elif name in scope:
                scope[name][0] = value
            else:
                raise StageError(f"there is no variable {name}")
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
            alike = get_close_matches(name, sorted(self._names), n=3)
            raise StageError(f"there is no function {name}" + (f"; there is {' and '.join(alike)}" if alike else ""))
        arguments = [*operands, *([piped] if piped else [])]

        def call(scope: Scope, functions: Functions) -> Any:
            try:
                given = functions[name](*[evaluate(scope, functions) for evaluate in arguments])
                return scope[_BUDGET][0].taken(name, given)
            except (TypeError, LookupError, ValueError, ArithmeticError, AttributeError) as error:
                raise StageError(f"{name}: {error}") from error

        return call

    def _operands(self, tokens: list[tuple[str, str]]) -> list[Eval]:
        operands: list[Eval] = []
        while tokens and tokens[0][1] not in ("|", ")"):
            kind, text = tokens.pop(0)
            if text == "(" and kind == "sign":
                operands.append(self._parenthesis(tokens))
            elif kind == "name" and text not in _CONSTANTS:
                operands.append(self._call(text, (), None))
            else:
                operands.append(_operand(kind, text))
        return operands

    def _parenthesis(self, tokens: list[tuple[str, str]]) -> Eval:
        """With the fields of what it gives: `(index .list 0).name`."""
        inner = self._pipe(tokens)
        if not tokens or tokens.pop(0)[1] != ")":
            raise StageError("a parenthesis is not closed")
        if not tokens or tokens[0][0] != "dot of":
            return inner
        steps = [step for step in tokens.pop(0)[1].split(".") if step]
        return lambda scope, functions: _field(inner(scope, functions), steps)


def _spelling(evaluate: Eval) -> Render:
    def render(scope: Scope, functions: Functions) -> str:
        text = spelled(evaluate(scope, functions))
        scope[_BUDGET][0].spend(len(text))
        return text

    return render


def _sequence(renders: Sequence[Render]) -> Render:
    def render(scope: Scope, functions: Functions) -> str:
        texts = []
        try:
            for one in renders:
                texts.append(one(scope, functions))
        except _Left as left:
            left.text = "".join(texts) + left.text
            raise
        return "".join(texts)

    return render


def _entries(values: Any) -> list[tuple[Any, Any]]:
    """Of a list, a mapping in the order of its keys, or (as in Go) a number."""
    if isinstance(values, int) and not isinstance(values, bool):
        return [(i, i) for i in range(min(values, 10_000))]
    if isinstance(values, Mapping):
        return sorted(values.items())
    return list(enumerate(values)) if isinstance(values, (list, tuple)) else []


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
    if "{{" in rest:
        raise StageError(f"{rest[rest.index('{{') :].splitlines()[0]!r} is not closed")
    return [*parts, (False, rest.lstrip() if trims else rest)]


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    rest = text.strip()
    while rest:
        match = _TOKEN.match(rest)
        if match is None:
            raise StageError(f"{{{{ {text} }}}}: {rest!r} cannot be read")
        kind = match.lastgroup or ""
        if match["var"]:
            tokens.append(("var", match["var"] + match["of"]))
        elif kind == "dot" and tokens and tokens[-1] == ("sign", ")") and not match[0].startswith(" "):
            tokens.append(("dot of", match["dot"]))
        else:
            tokens.append((kind, match[kind]))
        after = rest[match.end() :]
        rest = after if tokens[-1] == ("sign", ")") else after.lstrip()
    return tokens


def _operand(kind: str, text: str) -> Eval:
    if kind == "text":
        value = _text(text)
        return lambda scope, functions: value
    if kind == "number":
        number = float(text) if "." in text else int(text)
        return lambda scope, functions: number
    if kind in ("dot", "var"):
        name, _, path = text.partition(".")
        steps = [step for step in path.split(".") if step]
        return _variable(name or ".", steps)
    if text in _CONSTANTS:
        return lambda scope, functions: _CONSTANTS[text]
    raise StageError(f"{text!r} was not expected")


def _text(token: str) -> str:
    if token.startswith("`"):
        return token.strip("`")
    try:
        return str(json.loads(token))
    except ValueError as error:
        raise StageError(f"{token} is no text: {error}") from error


def _variable(name: str, steps: Sequence[str]) -> Eval:
    def evaluate(scope: Scope, functions: Functions) -> Any:
        if name not in scope:
            raise StageError(f"there is no variable {name}")
        return _field(scope[name][0], steps) if steps else scope[name][0]

    return evaluate


def _literal(text: str) -> Render:
    return lambda scope, functions: text


def _field(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
