"""The function libraries, where the real server's do what few would guess, and the words of what fails."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.cel.environment import Environment
from kubeloop.cel.types import DYN
from kubeloop.cel.values import EvaluationError

VALUES: dict[str, Any] = {"none": None, "d": {"a": 1, "l": [1, 2], "n": "x"}}


def evaluated(source: str) -> Any:
    return Environment({"none": DYN, "d": DYN}).compile(source).evaluate(VALUES)


@pytest.mark.parametrize(
    "source",
    [
        "'tacocat'.indexOf('', 30) == 30",
        "'tacocat'.indexOf('a', 30) == -1",
        "'tacocat'.lastIndexOf('a', 5) == 5",
        "'tacocat'.charAt(7) == ''",
        "duration('1h2m3s4ms').getMilliseconds() == 3723004",
        "string(timestamp('2011-08-18T19:03:37.01+01:00')) == '2011-08-18T19:03:37.01+01:00'",
        "timestamp('2020-01-01T00:30:00Z').getHours('-01:00') == 23",
        "timestamp('2020-01-01T00:30:00Z').getMinutes('-00:45') == 45",
        "timestamp('2020-07-01T00:00:00Z').getHours('Europe/Berlin') == 2",
        "int(duration('1s')) == 1000000000",
        "optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')) == optional.none()",
        "optional.unwrap([optional.of(1), optional.none()]) == [1]",
        "[optional.of(1), optional.none()].unwrapOpt() == [1]",
        "[3, 1, 2].sortBy(x, -x) == [3, 2, 1]",
        "[-3.5, 1.0].sortBy(x, x)[0] == -3.5",
        "[].sum() == 0 && [duration('1s')].filter(x, false).sum() == duration('0s')",
        "ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast()",
        "type(ip('::1')) == net.IP && type(cidr('::/8')) == net.CIDR",
        "url('https://example.com/with space/').getEscapedPath() == '/with%20space/'",
        "semver('v01.2', true).compareTo(semver('1.2.0')) == 0",
        "semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
        "!has(none.x) && none.?x == optional.none() && !has(d.n.y)",
        "{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}",
        "dyn(1) == 1.0 && dyn(1u) == 1 && 2u > 1 && 1.5 < 2",
        "'%x'.format(['Hello']) == '48656c6c6f' && '%b'.format([-5]) == '-101'",
        "'%.2f %f'.format([1234.5, 'Infinity']) == '1,234.50 ∞'",
    ],
)
def test_what_holds(source: str) -> None:
    """These hold on a real server."""
    assert evaluated(source) is True


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("none.x", "no such key: x"),
        ("d.nope", "no such key: nope"),
        ("d.l[5]", "index out of bounds: 5"),
        ("d.l[-1]", "index out of bounds: -1"),
        ("d.l['a']", "unsupported index type 'string' in list"),
        ("d.l[1.5]", "unsupported index value 1.5 in list"),
        ("1 / (d.a - 1)", "division by zero"),
        ("1 % (d.a - 1)", "modulus by zero"),
        ("9223372036854775807 + d.a", "integer overflow"),
        ("0u - uint(d.a)", "unsigned integer overflow"),
        ("d.a + 'x'", "no such overload"),
        ("int(d.n)", "type conversion error from 'string' to 'int'"),
        ("double('1_0')", "type conversion error from 'string' to 'double'"),
        ("bool('yes')", "type conversion error from 'string' to 'bool'"),
        ("duration(d.n)", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("timestamp(d.n)", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        ("timestamp(d.a * 253402300800)", "timestamp overflow"),
        ("timestamp(0).getHours('Nowhere/Land')", "unknown time zone Nowhere/Land"),
        ("optional.none().value()", "optional.none() dereference"),
        ("[1, 2].slice(1, 5)", "cannot slice(1, 5), list is length 2"),
        ("[].min()", "min called on empty list"),
        ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
        ("semver('1.2')", "No Major.Minor.Patch elements found"),
        ("semver('1.02.3')", 'Minor number must not contain leading zeroes "02"'),
        (
            "quantity('1x')",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ("quantity('1500m').asInteger()", "cannot convert value to integer"),
        (
            "ip('1.2.3')",
            'IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 address too short',
        ),
        ("ip('fe80::1%eth0')", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        (
            "cidr('10.0.0.0/33')",
            "network address parse error during conversion from string: network address parse error during conversion "
            'from string: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range',
        ),
        ("'a'.find(d.n + '(')", "Illegal regex: error parsing regexp: missing closing ): `x(`"),
    ],
)
def test_what_fails(source: str, problem: str) -> None:
    """Failures are told in the words of cel-go and of Go."""
    with pytest.raises(EvaluationError) as refusal:
        evaluated(source)

    assert problem == str(refusal.value)
