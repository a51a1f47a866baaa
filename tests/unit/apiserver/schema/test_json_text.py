"""JSON and YAML texts: values where they are sound, Go's complaints where they are not."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.schema.json_text import JsonSyntaxError, NumberLiteral, duplicates, has_duplicate_keys, parse
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.yaml_text import YamlSyntaxError, parse_yaml, yaml_duplicates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "unexpected end of JSON input"),
        ('{"metadata": {"name": "a"', "unexpected end of JSON input"),
        ("1.", "unexpected end of JSON input"),
        ("tru", "unexpected end of JSON input"),
        ("xyz", "invalid character 'x' looking for beginning of value"),
        ('{"a":+1}', "invalid character '+' looking for beginning of value"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":01}', "invalid character '1' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("{}?", "invalid character '?' after top-level value"),
        ("nope", "invalid character 'o' in literal null (expecting 'u')"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"\\u12x"', "invalid character 'x' in \\u hexadecimal character escape"),
        ('"a\nb"', "invalid character '\\n' in string literal"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
    ],
)
def test_a_broken_text_is_told_in_the_words_of_encoding_json(text: str, expected: str) -> None:
    """The message names the first byte that cannot stand where it stands, and what was expected there."""
    with pytest.raises(JsonSyntaxError) as caught:
        parse(text.encode())

    assert expected == str(caught.value)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(b'"\\ud800"', "\ufffd"), (b'"\xff"', "\ufffd"), (b'"\\ud83d\\ude00"', "\U0001f600"), (b" [ ] ", [])],
)
def test_text_that_is_no_unicode_is_mended(raw: bytes, expected: Any) -> None:
    """Lone surrogates and bytes that are no UTF-8 become U+FFFD; pairs of surrogates become one character."""
    assert expected == parse(raw)


def test_nesting_deeper_than_go_allows_is_refused() -> None:
    """Ten thousand lists within each other are too many, whatever comes after."""
    with pytest.raises(JsonSyntaxError, match="exceeded max depth"):
        parse(b"[" * 10_001)


def test_repeated_keys_are_found_at_any_depth() -> None:
    """Each repetition is named once by its path."""
    raw = b'{"a":1,"a":2,"a":3,"b":[{"c":1,"c":2}],"d":{"e":":","e":"::"}}'

    assert ["a", "b[0].c", "d.e"] == duplicates(raw)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{ "a" : "x:y" , "b" : { "c" : "::" } }', False),
        (b'{"a":1,"a":2}', True),
        (b'{"a\\u003a":1}', False),
        (b'{"a\\u003a":1,"b":1,"b":2}', True),
    ],
)
def test_colons_in_strings_are_no_keys(raw: bytes, expected: bool) -> None:
    """The quick look for repeated keys is not taken in by colons inside strings, escaped or not."""
    assert expected == has_duplicate_keys(raw, parse(raw))


def test_quoting_is_that_of_go() -> None:
    """Control characters are escaped, letters of any language are not."""
    assert '"a\\"b\\\\\\n\\x00é"' == go_quote('a"b\\\n\x00é')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("a: yes\nb: off\nc: y", {"a": True, "b": False, "c": "y"}),
        ("a: 010\nb: 0x1F\nc: 1_000\nd: 1e3\ne: 1.5", {"a": 8, "b": 31, "c": 1000, "d": 1000, "e": 1.5}),
        ("a: 2026-01-02\nb: 2026-01-02T03:04:05Z", {"a": "2026-01-02", "b": "2026-01-02T03:04:05Z"}),
        ('a: "1"\nb: ~\nc:', {"a": "1", "b": None, "c": None}),
        ("1: a\ntrue: b", {"1": "a", "true": "b"}),
        ("a: &x {k: 1}\nb:\n  <<: *x\n  l: 2", {"a": {"k": 1}, "b": {"k": 1, "l": 2}}),
        ("a: 1\n---\nb: 2", {"a": 1}),
    ],
)
def test_yaml_scalars_mean_what_they_mean_to_the_real_server(text: str, expected: Any) -> None:
    """Scalars are resolved by YAML 1.1 as goyaml has it, keys become text, and only the first document counts."""
    assert expected == parse_yaml(text.encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metadata: [name: b", "yaml: line 1: did not find expected ',' or ']'"),
        ("a: b\n c: d", "yaml: line 2: mapping values are not allowed in this context"),
        ("a:\n\t- b", "yaml: line 2: found character that cannot start any token"),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: \x01", "yaml: control characters are not allowed"),
    ],
)
def test_broken_yaml_is_told_with_its_line(text: str, expected: str) -> None:
    """Errors are goyaml's."""
    with pytest.raises(YamlSyntaxError) as caught:
        parse_yaml(text.encode())

    assert expected == str(caught.value)


def test_repeated_yaml_keys_are_told_with_their_lines() -> None:
    """Strict decoding of YAML has one message for all repeated keys."""
    found = yaml_duplicates(b"a: 1\na: 2\nb: {c: 1, c: 2}\n")

    expected = 'yaml: unmarshal errors:\n  line 2: key "a" already set in map\n  line 3: key "c" already set in map'
    assert [expected] == found


def test_aliases_that_expand_without_end_are_refused() -> None:
    """Nine times nine times nine items, and so on, from half a kilobyte are refused before any is made."""
    levels = ["a0: &a0 [x, x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10))]
    raw = "\n".join(levels).encode()

    with pytest.raises(YamlSyntaxError, match=r"^yaml: document contains excessive aliasing$"):
        parse_yaml(raw)


def test_aliases_to_long_texts_are_refused_too() -> None:
    """A text weighs what it is long: a few thousand aliases to a megabyte are too much."""
    raw = f"a: &a {'x' * 1_000_000}\nb: [{', '.join(['*a'] * 3000)}]".encode()

    with pytest.raises(YamlSyntaxError, match="excessive aliasing"):
        parse_yaml(raw)


def test_ordinary_aliases_are_followed() -> None:
    """Aliases to a block of settings are no excess, however many there are."""
    raw = f"a: &a {{k: v}}\nb: [{', '.join(['*a'] * 3000)}]".encode()

    assert [{"k": "v"}] * 3000 == parse_yaml(raw)["b"]


def test_an_anchor_inside_itself_is_refused() -> None:
    """A list that contains itself has no JSON form."""
    with pytest.raises(YamlSyntaxError, match=r"^yaml: anchor 'x' value contains itself$"):
        parse_yaml(b"a: &x [1, *x]")


@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}"), ("- ", "")], ids=["lists", "objects", "indented"]
)
def test_yaml_may_nest_two_hundred_levels(opening: str, closing: str) -> None:
    """The level after that is refused, and so are the levels that would exhaust a stack."""
    parse_yaml((opening * 200 + "1" + closing * 200).encode())

    for levels in (201, 100_000):
        with pytest.raises(YamlSyntaxError, match="exceeded max depth of 200"):
            parse_yaml((opening * levels + "1" + closing * levels).encode())


def test_aliases_count_as_the_levels_they_stand_for() -> None:
    """Lists that are short when written and nest through their aliases are refused as well."""
    raw = "\n".join(["a0: &a0 [x]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 300))]).encode()

    with pytest.raises(YamlSyntaxError, match="exceeded max depth of 200"):
        parse_yaml(raw)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_json_may_nest_two_hundred_levels(opening: str, closing: str) -> None:
    """The level after that is refused in the words of encoding/json, at whatever depth parsers give up."""
    parse((opening * 200 + "1" + closing * 200).encode())

    for levels in (201, 500, 1100, 20_000):
        with pytest.raises(JsonSyntaxError, match=f"^invalid character '\\{opening[0]}' exceeded max depth$"):
            parse((opening * levels + "1" + closing * levels).encode())


@pytest.mark.parametrize("text", ["1" * 5000, "-1e999", "1" * 400], ids=["digits", "exponent", "hundreds"])
def test_numbers_beyond_all_floats_are_refused(text: str) -> None:
    """Go cannot unmarshal them."""
    with pytest.raises(JsonSyntaxError) as caught:
        parse(f'{{"a":{text}}}'.encode())

    assert f"json: cannot unmarshal number {text} into Go value of type float64" == str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1" * 5000, "1" * 5000),
        ("1" * 25, float("1" * 25)),
        ("0x" + "f" * 17, "0x" + "f" * 17),
        ("18446744073709551615", 18446744073709551615),
        ("1e20", 1e20),
        ("1e999", "1e999"),
    ],
    ids=["digits", "float", "hexadecimal", "unsigned", "exponent", "infinite"],
)
def test_yaml_numbers_that_64_bits_cannot_hold(text: str, expected: Any) -> None:
    """They become floats, and text where no float holds them either."""
    found = parse_yaml(f"a: {text}".encode())["a"]

    assert (type(expected), expected) == (type(found), found)


def test_spelled_numbers_survive_broken_unicode() -> None:
    """The second look at a text mends bytes that are no UTF-8 as the first does."""
    assert {"a": "\ufffd", "b": 1.0} == NumberLiteral.parse(b'{"a":"\xff","b":1.0}')
