"""Selectors of devices: what they may say, and what they may cost at most (the numbers are v1.36's own)."""

from __future__ import annotations

import re

import pytest

from kubeloop.cel.cost.estimate import estimated_cost
from kubeloop.cel.devices import DEVICE_SIZES, compile_selector, device_value, is_too_costly, matches
from kubeloop.cel.values import EvaluationError

D = 'device.attributes["dra.example.com"]'
C = 'device.capacity["dra.example.com"]'


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ('device.attributes["no-such-domain"].noSuchAttr.isGreaterThan(quantity("0"))', 6),
        ('device.attributes["no-such-domain"]["noSuchAttr"].isGreaterThan(quantity("0"))', 6),
        ('"no-such-domain" in device.attributes', 3),
        ('device.driver == ""', 2),
        ('device.driver == "dra.example.com"', 4),
        (f"{D}.name", 4),
        (f'{D}["name"]', 4),
        (f"cel.bind(dra, {D}, dra.name)", 15),
        (f"{D}.name > 0", 5),
        (f'{D}.name == "fish"', 5),
        (f'{D}.name.isGreaterThan(semver("0.0.1"))', 6),
        (f'{D}.name.isGreaterThan(semver("v0.0.1", true)) && isSemver("v1.0.0", true)', 7),
        (f'{C}.name.isGreaterThan(quantity("1Ki"))', 6),
        (f'"name" in {C} && {C}.name.isGreaterThan(quantity("1Ki"))', 10),
        (f'!("name" in {C}) || {C}.name.isGreaterThan(quantity("1Ki"))', 11),
        (f"{D}.a && {D}.b && {D}.c", 12),
        ('device.attributes.exists_one(x, x == "dra.example.com")', 164),
        (f'{D}.exists_one(x, x == "services")', 133),
        (f'{D}.services.split("example").size() >= 2', 19),
        (f'{D}.services.matches("[^a]?sym")', 18),
        ('device.capacity.exists_one(x, x == "dra.example.com")', 164),
        (f'{C}.exists_one(x, x == "memory")', 133),
        ("device.allowMultipleAllocations == true", 3),
    ],
)
def test_what_a_selector_costs_at_most(expression: str, cost: int) -> None:
    """By how large names and values of devices can be."""
    assert cost == estimated_cost(compile_selector(expression).tree, DEVICE_SIZES)


LOOP = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(%s, %s)"


def test_a_selector_that_could_cost_too_much_is_known() -> None:
    """Loops in loops, whatever the devices."""
    source = "int('1'.find('[0-9]*')) < 100"
    for variable in ("z5", "z4", "z3", "z2", "z", "y", "x"):
        source = LOOP % (variable, source)
    program = compile_selector(source)

    assert (85_555_551, True) == (estimated_cost(program.tree, DEVICE_SIZES), is_too_costly(program))
    assert not is_too_costly(compile_selector("true"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("device.attributes.exists_one(x, x == 'dra.example.com')", True),
        (f"{D}.exists_one(x, x == 'count')", True),
        (f"cel.bind(dra, {D}, dra.count + dra.count == 6)", True),
        ("cel.bind(device, 1, device == 1)", True),
        ("'count' in device.attributes['other.example.com']", False),
        ("'anything' in device.attributes", True),
        (f"{C}.memory.isGreaterThan(quantity('1Ki'))", True),
    ],
)
def test_what_a_selector_finds(expression: str, expected: bool) -> None:
    """Every domain is there, names without one are of the driver's, and cel.bind names a value."""
    device = device_value("dra.example.com", False, {"count": {"int": 3}}, {"memory": "1Mi"})

    assert expected is matches(compile_selector(expression), device)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("1", "must evaluate to bool or the unknown type, not int"),
        ("device.name == 1", "compilation failed: ERROR: <input>:1:7: undefined field 'name'"),
        (
            "cel.bind(a.b, 1, true)",
            "compilation failed: ERROR: <input>:1:11: cel.bind() variable names must be simple identifiers",
        ),
        ("'x'.includes('x')", "compilation failed: ERROR: <input>:1:13: undeclared reference to 'includes'"),
    ],
)
def test_what_is_no_selector(expression: str, why: str) -> None:
    """It must be true or false, or something nobody knows before there is a device."""
    with pytest.raises(ValueError, match=re.escape(why)):
        compile_selector(expression)


def test_values_that_fit_no_selector() -> None:
    """What is neither true nor false, and attributes of a type that is not known here."""
    device = device_value("dra.example.com", False, {"count": {"int": 3}}, {})

    with pytest.raises(EvaluationError, match=r"^CEL result of type int could not be converted to bool: "):
        matches(compile_selector(f"{D}.count"), device)
    with pytest.raises(ValueError, match=r"^attribute names: unsupported attribute value$"):
        device_value("dra.example.com", False, {"names": {"strings": ["a"]}}, {})
