"""Values that programs trip over, and JSON values with such values put anywhere into them."""

from __future__ import annotations

import random
from typing import Any

LONG = 70_000
TEXTS: tuple[str, ...] = (
    "", " ", "\t", "a\x00b", "\x00", "\n", "\x7f", "\x1b[31m", "\u202e", "\ufeff", "\ufffd", "\U0001f9e8", "e\u0301", "İ", "ß",
    "ſ", "٣", "１", "²", "-", "--", ".", "..", "...", "/", "//", "a/b", "a/b/c", "/a", "a/", "../../etc/passwd", "%", "%00", "%2F",
    "%zz", "'", '"', "`", "\\", "{", "}", "[", "]", "[]", "{}", "null", "true", "false", "NaN", "Infinity", "-0", "0x10", "1e3", "1e999",
    "1_000", "0.1", "+1", "-1", "0", "1", "007", "9" * 19, "9" * 400, "9" * 5000, "18446744073709551616", "1Ki", "1e", "1m", "-1Gi",
    "1.5Pi", "0.0000000000001n", "1E9999999", "1e-9999999", "100%", "-5%", "1000000000000%", "a" * 64, "a" * 254, "a." * 130, "A", "a_b",
    "Default", "default", "kube-system", "*", "**", "?", "$", "$(A)", "${A}", "{{.}}", "a=b", "a==b", "a!=b", "a in (b,c)",
    "a notin ()", "!a", "a,b", "a,,b", "(", ")", "((", "a in (b", "a>1", "a<x", "a>9999999999999999999", "metadata.name=a", "spec.x=y",
    "metadata.name", "=,=", "==", "1.2.3.4", "::", "::1", "::ffff:1.2.3.4", "1.2.3.4/33", "fe80::/129", "256.1.1.1", "01.2.3.4", "2026-01-02T03:04:05Z",
    "2026-02-30T25:61:61Z", "0000-00-00T00:00:00Z", "9999-12-31T23:59:60+99:99", "0001-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "2026-01-02T03:04:05.123456789123Z",
    "1h", "1h1m1.5s", "-1s", "9999999h", "1y", "* * * * *", "@every 1s", "61 * * * *", "*/0 * * * *", "0-99999 * * * *", "TZ=UTC 1 1 1 1 1", "0 0 31 2 *",
    "(", "(?P<", "[a", "a{99999}", "(a+)+$", "^$", "\\", "(?=a)", "\\1", "====", "YQ==", "YQ", "*&^", "http://", "http://[", "https://a:99999/", "ftp://a",
    "https://a/?x#y", "//a", "a:b:c", "sha256:" + "a" * 64, "nginx@sha256:z", "object.x", "self.a.b", "self > ", "has(self.x)", "1/0", "'a' + 1",
    "self.all(x, x.all(y, y.all(z, true)))", "oldSelf == self", "optional.none()", "self[0]", "-" * 30 + "1", "(" * 300, "!" * 300 + "true", "[" * 300, "self.matches('(')",
    "quantity('x')", "duration('1')", "timestamp('x')", "url('::')", "cel.bind(x, x, x)", ".spec.x", ".spec[", ".spec['a']", "{.items[*]}", "{.a[?(@.b==1)]}", "{.a[", ".a[-1]",
    "$ref", "Unknown", "Always", "TCP", "ClusterIP", "x" * 2000, "y" * LONG,
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 255, 65535, 65536, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400,
    0.5, -0.0, 1.0, 1e15, 1e16, 1e100, 1e308, 5e-324, 3.0000000000000004,
)  # fmt: skip
_SHAPES: tuple[Any, ...] = (
    None, True, False, [], {}, [None], [[]], [{}], {"": None}, {"a": None}, {"a": {}}, {"kind": 1}, {"name": []}, ["a", "a"], [{}, {}],
    {"matchLabels": None}, {"matchExpressions": [{}]}, {"$patch": "delete"}, {"$patch": "x"}, [{"$patch": "replace"}],
    {"$retainKeys": ["a"]}, {"$setElementOrder/a": ["b"]}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {"$ref": "#/a"},
    {"f:metadata": {"f:labels": {"f:a": {}}}}, {"k:{": {}}, {"\x00": "\x00"}, {"a/b": 1}, {"~": 1}, {"9" * 300: 0},
)  # fmt: skip


def text(rng: random.Random) -> str:
    return rng.choice(TEXTS)


def value(rng: random.Random) -> Any:
    """Any JSON value; a fresh one where it can be changed."""
    chance = rng.random()
    if chance < 0.4:
        return rng.choice(TEXTS)
    if chance < 0.6:
        return rng.choice(NUMBERS)
    if chance < 0.97:
        return copied(rng.choice(_SHAPES))
    return nested(rng.choice((20, 200)), rng.random() < 0.5)


def nested(depth: int, lists: bool) -> Any:
    made: Any = "x"
    for _ in range(depth):
        made = [made] if lists else {"a": made}
    return made


def mutate(rng: random.Random, whole: Any, times: int) -> Any:
    """`whole` with some of its values, anywhere, made worse. It is changed in place, unless it is replaced."""
    for _ in range(times):
        places = list(_places(whole))
        if not places:
            return value(rng)
        _spoil(rng, *rng.choice(places), places)
    return whole


def copied(whole: Any) -> Any:
    if type(whole) is dict:
        return {key: copied(item) for key, item in whole.items()}
    return [copied(item) for item in whole] if type(whole) is list else whole


def _spoil(rng: random.Random, holder: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    """One value replaced, removed, doubled, wrapped, renamed, or exchanged for one from elsewhere."""
    way = rng.randrange(14)
    if way >= 8:
        holder[key] = _of_its_sort(rng, holder[key])
    elif way <= 2:
        holder[key] = value(rng)
    elif way == 3:
        del holder[key]
    elif way == 4 and type(holder) is list:
        holder.insert(rng.randrange(len(holder) + 1), copied(holder[key]))
    elif way == 4:
        holder[rng.choice(TEXTS[:-1])] = copied(holder[key])
    elif way == 5:
        holder[key] = rng.choice(([holder[key]], {"a": holder[key]}, {"name": holder[key]}, str(holder[key])[:100]))
    elif way == 6:
        other, place = rng.choice(places)
        holder[key] = copied(other[place])
    elif type(holder) is list:
        holder.append(value(rng))
    else:
        holder[rng.choice(("name", "kind", "spec", "status", "metadata", "x", "$patch", ""))] = value(rng)


def _of_its_sort(rng: random.Random, old: Any) -> Any:
    """Another value of the same JSON type, which gets further than one of another."""
    if type(old) is str:
        return rng.choice(TEXTS) if rng.random() < 0.8 else old + rng.choice(("x", ".", "/", "-", " ", "\x00", old))
    if type(old) is bool:
        return not old
    if type(old) in (int, float):
        return rng.choice(NUMBERS)
    if type(old) is list:
        return rng.choice(([], old + old, old[::-1], [*old, None]))
    return {} if type(old) is dict else value(rng)


def _places(whole: Any) -> Any:
    """Every (holder, key) in a value."""
    if type(whole) is dict:
        for key, item in whole.items():
            yield whole, key
            yield from _places(item)
    elif type(whole) is list:
        for index, item in enumerate(whole):
            yield whole, index
            yield from _places(item)
