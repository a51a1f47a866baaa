"""Types of expressions, and what the checker says of wrong ones."""

from __future__ import annotations

import pytest

from kubeloop.cel.environment import Environment
from kubeloop.cel.syntax import CompileError
from kubeloop.cel.types import DYN, INT, STRING, list_of, optional_of

VARIABLES = {"d": DYN, "i": INT, "s": STRING, "l": list_of(INT), "o": optional_of(INT)}


@pytest.mark.parametrize(
    ("source", "type_"),
    [
        ("[]", "list(dyn)"),
        ("[[], [1]]", "list(list(int))"),
        ("true ? [] : [1]", "list(int)"),
        ("[] + ['a']", "list(string)"),
        ("d ? 1 : d", "dyn"),
        ("{}.a", "dyn"),
        ("[optional.none(), optional.of(1)]", "list(optional_type(int))"),
        ("o.orValue(1)", "int"),
        ("l[?0]", "optional_type(int)"),
        ("o.optMap(x, string(x))", "optional_type(string)"),
        ("l.map(x, x > 0, string(x))", "list(string)"),
        ("l.transformMap(k, v, string(v))", "map(int, string)"),
        ("{'a': 1}.transformMapEntry(k, v, {v: k})", "map(int, string)"),
        ("l.sortBy(x, -x)", "list(int)"),
        ("type(i)", "type(int)"),
        ("[?o, i]", "list(int)"),
    ],
)
def test_types(source: str, type_: str) -> None:
    """What is not known at first is found by where it is used."""
    assert type_ == str(Environment(VARIABLES).compile(source).type)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("s == null", "1:3: found no matching overload for '_==_' applied to '(string, null)'"),
        ("i == 1.0", "1:3: found no matching overload for '_==_' applied to '(int, double)'"),
        ("l.all(x, x)", "1:10: expected type 'bool' but found 'int'"),
        ("l.exists_one(x, x)", "1:13: found no matching overload for '_?_:_' applied to '(int, int, int)'"),
        ("l.filter(x, x)", "1:9: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'"),
        (
            "i.all(x, true)",
            "1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("l.all(1, true)", "1:7: argument must be a simple name"),
        ("quantity('1').value", "1:14: unexpected failed resolution of 'kubernetes.Quantity'"),
        ("ip('::1').value", "1:10: type 'net.IP' does not support field selection"),
        ("l.map(1, true)", "1:7: argument is not an identifier"),
        ("l.all(x, x, true)", "1:10: duplicate variable name: x"),
        ("has(i)", "1:5: invalid argument to has() macro"),
        ("s.reverse()", "1:10: found no matching overload for 'reverse' applied to 'string.()'"),
        ("cel.bind(x, 1, x)", "1:1: undeclared reference to 'cel' (in container '')"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'c'}", "1:15: expected type 'int' but found 'string'"),
        ("s.matches('(')", "1:11: invalid matches argument"),
        ("duration('1x')", "1:10: invalid duration argument"),
        ("timestamp('2020')", "1:11: invalid timestamp argument"),
        (
            "'%d'.format(['a'])",
            "1:14: error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%s'.format([1, 2])", "1:12: too many arguments supplied to string.format (expected 1, got 2)"),
        ("'%s %s'.format([1])", "1:15: index 1 out of range"),
        ("o + 1", "1:3: found no matching overload for '_+_' applied to '(optional_type(int), int)'"),
        ("timestamp(0) + 1", "1:14: found no matching overload for '_+_' applied to '(timestamp, int)'"),
    ],
)
def test_problems(source: str, problem: str) -> None:
    """They are told in cel-go's words, each where it stands."""
    with pytest.raises(CompileError) as refusal:
        Environment(VARIABLES).compile(source)

    assert f"ERROR: <input>:{problem}" == str(refusal.value).partition("\n")[0]


STARTS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


@pytest.mark.parametrize(
    ("source", "problems"),
    [
        (
            "1 = 2",
            [
                "1:3: Syntax error: token recognition error at: '= '",
                "1:5: Syntax error: extraneous input '2' expecting <EOF>",
            ],
        ),
        (
            "s == 'abc",
            [
                "1:6: Syntax error: token recognition error at: ''abc'",
                f"1:10: Syntax error: mismatched input '<EOF>' expecting {STARTS}",
            ],
        ),
        ("* 1", [f"1:1: Syntax error: extraneous input '*' expecting {STARTS}"]),
        (
            "1 + +",
            [
                f"1:5: Syntax error: mismatched input '+' expecting {STARTS}",
                f"1:6: Syntax error: mismatched input '<EOF>' expecting {STARTS}",
            ],
        ),
        (
            "[1].map(var, var)",
            [
                "1:9: reserved identifier: var",
                "1:9: argument is not an identifier",
                "1:14: reserved identifier: var",
            ],
        ),
        ("Msg{:1}", ["1:5: Syntax error: mismatched input ':' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"]),
    ],
)
def test_syntax_errors(source: str, problems: list[str]) -> None:
    """Several mistakes are told of at once, as ANTLR's parser goes on after one."""
    with pytest.raises(CompileError) as refusal:
        Environment(VARIABLES).compile(source)

    told = [line for line in str(refusal.value).split("\n") if line.startswith("ERROR")]
    assert [f"ERROR: <input>:{problem}" for problem in problems] == told


def test_mixed_lists_may_be_formatted() -> None:
    """Only the arguments of format() may be of several types."""
    program = Environment(VARIABLES).compile("'%s %.1f %s %e'.format(['a', 1.25, {'k': [b'x', 1.5]}, 1234.5])")

    assert 'a 1.2 {"k":[b"x", 1.500000]} 1.234500×10⁰³' == program.evaluate({})


def test_a_constant_pattern_is_compiled_with_its_expression() -> None:
    """find() with one that is none is no program."""
    with pytest.raises(CompileError) as refusal:
        Environment(VARIABLES).compile("s.find('(') == ''")

    assert "program instantiation failed: error parsing regexp: missing closing ): `(`" == refusal.value.told
