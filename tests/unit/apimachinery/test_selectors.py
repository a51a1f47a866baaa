"""Label selectors: text, objects, matching."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.apimachinery import selector_text, selectors
from kubeloop.apimachinery.selectors import SelectorError

LABELS = {"app": "web", "tier": "front", "weight": "7"}
NAMES = st.sampled_from(["a", "b", "example.com/c"])
VALUES = st.sampled_from(["", "x", "y", "in", "notin"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("app", True),
        ("!app", False),
        ("!gone", True),
        ("app=web", True),
        ("app==web", True),
        ("app!=web", False),
        ("gone!=web", True),
        ("gone=", False),
        ("app in (web,db)", True),
        ("app in ()", False),
        ("app notin (db)", True),
        ("gone notin (db)", True),
        ("weight>6", True),
        ("weight<7", False),
        ("app>6", False),
        (" app = web , tier in ( front ) ", True),
        ("app=web,tier=back", False),
    ],
)
def test_matching(text: str, expected: bool) -> None:
    """Requirements are joined by and; what is unequal or not in a set may also be absent."""
    assert expected == selector_text.parse(text).matches(LABELS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b,,)", "unable to parse requirement: found ')', expected: ',', or identifier"),
        ("a in (,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, "
            "the value must be an integer",
        ),
        (
            "k=" + "v" * 64,
            f'unable to parse requirement: values[0][k]: Invalid value: "{"v" * 64}": must be no more than 63 bytes',
        ),
    ],
)
def test_malformed_text_says_what_was_found(text: str, expected: str) -> None:
    """The message names what was found and what was expected instead."""
    with pytest.raises(SelectorError) as refused:
        selector_text.parse(text)

    assert expected == str(refused.value)


@given(st.text(alphabet="ab=!(),<> in", max_size=20))
def test_any_text_is_a_selector_or_refused(text: str) -> None:
    """No text makes the parser fail in another way, and what it reads it can write and read again."""
    try:
        selector = selector_text.parse(text)
    except SelectorError:
        return

    assert selector == selector_text.parse(str(selector))


@given(st.dictionaries(NAMES, VALUES), st.dictionaries(NAMES, VALUES))
def test_plain_maps_select_supersets(wanted: dict[str, str], labels: dict[str, str]) -> None:
    """A plain map selects exactly the objects that have all its labels."""
    assert (wanted.items() <= labels.items()) == selectors.from_labels(wanted).matches(labels)


def test_an_absent_selector_selects_nothing_and_an_empty_one_everything() -> None:
    """None and {} are opposites in a LabelSelector."""
    assert not selectors.from_label_selector(None).matches({})
    assert selectors.from_label_selector({}).matches({})
    assert selectors.from_label_selector({}).is_empty
    assert not selectors.from_label_selector(None).is_empty


def test_expressions_and_labels_are_joined() -> None:
    """matchLabels and matchExpressions must all hold; the text form is sorted by key."""
    selector = selectors.from_label_selector(
        {
            "matchLabels": {"tier": "front"},
            "matchExpressions": [
                {"key": "app", "operator": "In", "values": ["web", "db"]},
                {"key": "gone", "operator": "DoesNotExist"},
            ],
        }
    )

    assert selector.matches(LABELS)
    assert not selector.matches({**LABELS, "gone": ""})
    assert "app in (db,web),!gone,tier=front" == str(selector)
    assert "front" == selector.exact_value("tier")


def test_unknown_operators_do_not_select() -> None:
    """An operator that selectors do not have is an error, Gt too in a LabelSelector."""
    with pytest.raises(SelectorError, match='"Gt" is not a valid label selector operator'):
        selectors.from_label_selector({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]})


def test_node_selectors_compare_numbers() -> None:
    """Node selectors have Gt and Lt; without expressions they select nothing."""
    above = selectors.from_node_expressions([{"key": "weight", "operator": "Gt", "values": ["6"]}])

    assert above.matches(LABELS)
    assert not above.matches({"weight": "6"})
    assert not selectors.from_node_expressions([]).matches(LABELS)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            {"key": "a", "operator": "In"},
            "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["x"]},
            "s.matchExpressions[0].values: Forbidden: "
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        (
            {"key": "a", "operator": "Near"},
            's.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
        ),
    ],
)
def test_validation_of_expressions(expression: dict[str, Any], expected: str) -> None:
    """Operators decide whether values are needed."""
    errors = selectors.label_selector_errors({"matchExpressions": [expression]}, "s")

    assert [expected] == [str(error) for error in errors]
