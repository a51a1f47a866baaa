"""Selectors: their text, their objects and a naive reading of them agree."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubeloop.apimachinery import field_selectors, selector_text, selectors

KEYS = st.sampled_from(("a", "b", "example.com/c"))
VALUES = st.sampled_from(("", "x", "y", "1", "20", "in"))
LABELS = st.dictionaries(KEYS, VALUES, max_size=3)
Condition = tuple[str, str, list[str]]  # key, operator, values

SETS = st.tuples(KEYS, st.sampled_from(("in", "notin")), st.lists(VALUES, min_size=1, max_size=3, unique=True))
EQUALITIES = st.tuples(KEYS, st.sampled_from(("=", "==", "!=")), st.lists(VALUES, min_size=1, max_size=1))
PRESENCE = st.tuples(KEYS, st.sampled_from(("exists", "!")), st.just([]))
NUMBERS = st.tuples(
    KEYS, st.sampled_from((">", "<")), st.lists(st.sampled_from(("0", "1", "19")), min_size=1, max_size=1)
)
CONDITIONS: Any = st.lists(st.one_of(SETS, EQUALITIES, PRESENCE, NUMBERS), max_size=4)


def text_of(condition: Condition) -> str:
    key, operator, values = condition
    if operator in ("in", "notin"):
        return f"{key} {operator} ({','.join(values)})"
    return f"!{key}" if operator == "!" else key if operator == "exists" else f"{key}{operator}{values[0]}"


def holds(condition: Condition, labels: dict[str, str]) -> bool:
    """As the documentation of labels and selectors says it."""
    key, operator, values = condition
    match operator:
        case "exists":
            return key in labels
        case "!":
            return key not in labels
        case "in" | "=" | "==":
            return key in labels and labels[key] in values
        case "notin" | "!=":
            return key not in labels or labels[key] not in values
    if key not in labels or not labels[key].isdigit():
        return False
    return int(labels[key]) > int(values[0]) if operator == ">" else int(labels[key]) < int(values[0])


@given(CONDITIONS, LABELS)
def test_text_selects_what_it_says(conditions: list[Condition], labels: dict[str, str]) -> None:
    """All conditions must hold, each as one reads it."""
    selector = selector_text.parse(",".join(map(text_of, conditions)))

    assert all(holds(condition, labels) for condition in conditions) == selector.matches(labels)


@given(CONDITIONS, LABELS)
def test_text_of_a_selector_is_that_selector(conditions: list[Condition], labels: dict[str, str]) -> None:
    """Written and read again it selects the same and is written the same."""
    selector = selector_text.parse(",".join(map(text_of, conditions)))
    again = selector_text.parse(str(selector))

    assert str(selector) == str(again)
    assert selector.matches(labels) == again.matches(labels)


@given(KEYS, VALUES, LABELS)
def test_equality_and_sets_of_one_agree(key: str, value: str, labels: dict[str, str]) -> None:
    """`a=b` is `a in (b)`, `a!=b` is `a notin (b)`."""
    for equality, one in ((f"{key}={value}", f"{key} in ({value})"), (f"{key}!={value}", f"{key} notin ({value})")):
        assert selector_text.parse(equality).matches(labels) == selector_text.parse(one).matches(labels)


@given(LABELS, st.lists(st.one_of(SETS, PRESENCE), max_size=3), LABELS)
def test_objects_and_texts_agree(wanted: dict[str, str], conditions: list[Condition], labels: dict[str, str]) -> None:
    """A LabelSelector selects what the text of its parts selects."""
    names = {"in": "In", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist"}
    expressions = [{"key": k, "operator": names[o], **({"values": v} if v else {})} for k, o, v in conditions]
    texts = [f"{key}={value}" for key, value in wanted.items()] + [text_of(condition) for condition in conditions]

    selector = selectors.from_label_selector({"matchLabels": wanted, "matchExpressions": expressions})

    assert selector_text.parse(",".join(texts)).matches(labels) == selector.matches(labels)


FIELD_VALUES = st.text("ab=,\\! ", max_size=4)
TERMS = st.lists(st.tuples(st.sampled_from(("metadata.name", "spec.x")), st.booleans(), FIELD_VALUES), max_size=3)
FIELDS = st.dictionaries(st.sampled_from(("metadata.name", "spec.x")), FIELD_VALUES)


@given(TERMS, FIELDS)
def test_field_selectors(terms: list[tuple[str, bool, str]], fields: dict[str, str]) -> None:
    """Whatever a field holds can be asked for; what is absent reads as empty; the text is read as it was written."""
    text = ",".join(f"{name}{'!=' if no else '='}{field_selectors.escape(value)}" for name, no, value in terms)
    selector = field_selectors.parse(text)

    assert all((fields.get(name, "") == value) != no for name, no, value in terms) == selector.matches(fields)
    assert selector.matches(fields) == field_selectors.parse(str(selector)).matches(fields)
