"""JSON is read as JSON where YAML is expected; what comes of it is what the YAML reader makes of the same text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubeloop.apimachinery.yaml_json import read_json
from kubeloop.apimachinery.yaml_text import YamlSyntaxError, parse_yaml, yaml_duplicates

COMMENT = b"# by this comment a text is no JSON any more\n"

TEXTS = st.text(max_size=20) | st.sampled_from(["<<", "=", "yes", "0x10", "2001-01-01", "a: b", "# no", "*a", "&a", ""])
NUMBERS = st.integers() | st.floats(allow_nan=False) | st.sampled_from([1e3, -0.0, 1e300, 1 << 63, -(1 << 63), 1 << 64])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def by_yaml(raw: bytes) -> str:
    """What the YAML reader makes of it, types and order included, or that it refuses it."""
    try:
        return repr(parse_yaml(COMMENT + raw))
    except YamlSyntaxError:
        return "refused"


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.booleans(), st.sampled_from([None, 2, "\t"]))
@example({"k" * 1100: 1}, True, None)
@example({'"' * 600: 1}, True, None)
@example({"a\u2028b\x85c\ufeffd\x7fe": "\ud83d\ude80\x00\x08"}, False, None)
def test_a_json_object_is_what_yaml_makes_of_it(value: Any, is_ascii: bool, indent: Any) -> None:
    """In whatever spelling: numbers become the same, texts stay texts, and what YAML refuses is not let pass."""
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    raw = text.encode("utf-8", "surrogatepass")

    found = read_json(raw)

    assert found is None or repr(found.value) == by_yaml(raw)
    assert found is None or (found.has_repeated_keys, yaml_duplicates(COMMENT + raw)) == (False, [])


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"a": 1.0, "b": 1E3, "c": -0, "d": 0.5}', {"a": 1, "b": 1000, "c": 0, "d": 0.5}),
        (b'{"a": "\\u003cb\\u003e \\n"}\n', {"a": "<b> \n"}),
        (b"{}", {}),
    ],
)
def test_plain_json_does_not_need_the_yaml_reader(raw: bytes, value: Any) -> None:
    """Numbers and escapes as Go's clients write them are read at once."""
    found = read_json(raw)

    assert found is not None
    assert repr(value) == repr(found.value) == by_yaml(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": NaN}',
        b'{"a": 1}\n---\n{}',
        b'{"a": 123456789012345678901}',
        b'{"a": 1e999}',
        b'{"a":\t1}',
        b'{"a"\n: 1}',
        b'{"a"  \n  \n: 1}',
        b'{"a"' + b" " * 1100 + b": 1}",
        b'{"a": "\\/"}',
        b'{"a": ' * 300 + b"1" + b"}" * 300,
        b'{"a": ' * 5000,
        b"{a: b}",
        b'{"a": "\xff"}',
        b"- a",
        b"",
    ],
)
def test_what_yaml_may_read_differently_is_left_to_it(raw: bytes) -> None:
    """No JSON, other documents behind it, numbers no float holds, tabs, odd escapes, and nesting without bounds."""
    assert read_json(raw) is None


def test_repeated_keys_are_told_by_their_lines() -> None:
    """The last one counts, and strict decoding names each in the words of the YAML reader."""
    raw = b'{"a": 1,\n"b": {"c": 1, "c": 2},\n"a": 3}'

    assert {"a": 3, "b": {"c": 2}} == parse_yaml(raw)
    assert [
        'yaml: unmarshal errors:\n  line 2: key "c" already set in map\n  line 3: key "a" already set in map'
    ] == yaml_duplicates(raw)


@pytest.mark.parametrize("filling", [b"\n", b" ", b'\\"', b'", "', b"\\\\", b"a"])
def test_a_long_text_is_looked_at_once(filling: bytes) -> None:
    """A hundred times the length costs a hundred times the looks, not ten thousand times: this ends at once."""
    many = filling * 300_000

    for raw in (b'{"a": "b"' + many, b'{"a": "' + many, b'{"' + many + b'": 1}', b'{"a"' + many + b"}"):
        read_json(raw)
