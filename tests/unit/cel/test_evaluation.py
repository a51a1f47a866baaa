"""What expressions evaluate to, and in which words they fail."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.cel.environment import Environment
from kubeloop.cel.syntax import CompileError
from kubeloop.cel.types import DYN, INT, STRING, Field, list_of, object_of
from kubeloop.cel.values import EvaluationError

VALUE = {"names": ["n1", "n2"], "size": 3, "flag": True, "map": {"a-b": 1}}
SELF = object_of(
    "self",
    {
        "names": Field("names", list_of(STRING)),
        "size": Field("size", INT),
        "__namespace__": Field("namespace", STRING),
    },
)


def evaluate(source: str) -> Any:
    return Environment({"self": DYN}).compile(source).evaluate({"self": VALUE})


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-5 / 2", -2),
        ("-5 % 2", -1),
        ("1 < 2.0", True),
        ("self.size == 3.0", True),
        ("self.flag == 1", False),
        ("self.names.all(n, n.startsWith('n'))", True),
        ("self.names.exists_one(n, n == 'n1')", True),
        ("self.names.map(n, n.endsWith('1'), n + '!')", ["n1!"]),
        ("self.names.filter(n, n != 'n1').size()", 1),
        ("self.names.all(i, n, i < 2 && n != '')", True),
        ("self.map.exists(k, k == 'a-b')", True),
        ("self.map['a-b']", 1),
        ("'a1b22'.find('[0-9]+')", "1"),
        ("'abc'.find('[0-9]+')", ""),
        ("'a1b22'.findAll('[0-9]+')", ["1", "22"]),
        ("'a1b22'.findAll('[0-9]+', 1)", ["1"]),
        ("'baac'.findAll('a*')", ["", "aa", ""]),
        ("has(self.none) || self.size > 1", True),
        ("self.none == 1 || true", True),
        ("self.?none.orValue('x')", "x"),
        ("self.names[?5].hasValue()", False),
        ("[1, ?optional.none()]", [1]),
        ("optional.of(2).optMap(x, x + 1).value()", 3),
        ("'%s is %d of %.1f'.format(['a', 1, 2.5])", "a is 1 of 2.5"),
        ("'a,b'.split(',').join('-')", "a-b"),
        ("[3, 1].isSorted()", False),
        ("[3, 1].sum() + [3, 1].max()", 7),
        ("'a1b2'.findAll('[0-9]')", ["1", "2"]),
        ("quantity('1Ki').isGreaterThan(quantity('1k'))", True),
        ("quantity('1500m').add(1).asApproximateFloat()", 2.5),
        ("url('https://u@a.b:80/c?d=e').getHostname()", "a.b"),
        ("cidr('10.0.0.0/8').containsIP(ip('10.1.1.1'))", True),
        ("isIP('10.0.0') || ip.isCanonical('::0001')", False),
        ("format.dns1123Label().validate('A').hasValue()", True),
        ("semver('1.2.3-rc.1').isLessThan(semver('1.2.3'))", True),
        ("sets.equivalent([1, 2], [2, 1, 1])", True),
        ("duration('90m') > duration('1h')", True),
        ("string(duration('90m'))", "5400s"),
        ("timestamp('2026-01-02T03:04:05Z').getMonth()", 0),
        ("type(self.size) == int", True),
        ("r'\\d' + '\\u00e9'", "\\dé"),
        ("[1, 2].transformList(i, v, i * v)", [0, 2]),
        ("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}),
    ],
)
def test_values(source: str, value: Any) -> None:
    """Expressions of the language and of Kubernetes' libraries have the values they have in Kubernetes."""
    assert value == evaluate(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("self.none", "no such key: none"),
        ("self.names[2]", "index out of bounds: 2"),
        ("1 / 0", "division by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("self.size.startsWith('x')", "no such overload"),
        ("self.names.all(n, n.size() > self.none)", "no such key: none"),
        ("optional.none().value()", "optional.none() dereference"),
    ],
)
def test_failures(source: str, message: str) -> None:
    """What has no value says so in cel-go's words."""
    with pytest.raises(EvaluationError) as refusal:
        evaluate(source)

    assert message == str(refusal.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("object.", "1:8: Syntax error: no viable alternative at input '.'\n | object.\n | .......^"),
        ("(1", "1:3: Syntax error: missing ')' at '<EOF>'\n | (1\n | ..^"),
        ("1 2", "1:3: Syntax error: extraneous input '2' expecting <EOF>\n | 1 2\n | ..^"),
        ("self.oops", "1:5: undefined field 'oops'\n | self.oops\n | ....^"),
        ("oops", "1:1: undeclared reference to 'oops' (in container '')\n | oops\n | ^"),
        (".oops", "1:2: undeclared reference to '.oops' (in container '')\n | .oops\n | .^"),
        ("..", "1:2: Syntax error: no viable alternative at input '..'\n | ..\n | .^"),
        ("Oops{a: 1}", "1:5: undeclared reference to 'Oops' (in container '')\n | Oops{a: 1}\n | ....^"),
        ("1 + 'a'", "1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^"),
        (
            "self.size.startsWith('a')",
            "1:21: found no matching overload for 'startsWith' applied to 'int.(string)'\n"
            " | self.size.startsWith('a')\n | ....................^",
        ),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^"),
        ("true &&\n1", "2:1: expected type 'bool' but found 'int'\n | 1\n | ^"),
    ],
)
def test_compile_errors(source: str, message: str) -> None:
    """Mistakes are found before anything is evaluated, each with its place."""
    with pytest.raises(CompileError) as refusal:
        Environment({"self": SELF}).compile(source)

    assert f"ERROR: <input>:{message}" == str(refusal.value)


def test_escaped_fields() -> None:
    """A field named as a reserved word is written with underscores and found under its own name."""
    program = Environment({"self": SELF}).compile("self.__namespace__")

    assert "x" == program.evaluate({"self": {"namespace": "x"}})


def test_loops_end() -> None:
    """An expression that would keep the server busy is stopped."""
    program = Environment({"self": DYN}).compile("self.all(a, self.all(b, self.all(c, a + b + c >= 0)))")

    with pytest.raises(EvaluationError, match="cost limit exceeded"):
        program.evaluate({"self": list(range(100))})


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("self.matches('^(a+)+$')", False),
        ("self.find('^(a+)+$')", ""),
        ("self.findAll('^(a+)+$')", []),
    ],
)
def test_patterns_end(source: str, value: Any) -> None:
    """No regular expression keeps the server busy."""
    assert value == Environment({"self": STRING}).compile(source).evaluate({"self": "a" * 4000 + "!"})


def test_named_variables_are_known() -> None:
    """A program says which variables it names, not counting those of its loops."""
    program = Environment({"self": DYN, "oldSelf": DYN}).compile("self.all(x, x > 0)")

    assert frozenset({"self"}) == program.names
