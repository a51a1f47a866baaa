"""Field validation of patches and YAML bodies: what is found, in which order, and how it is told."""

import json

import pytest

from tests.testkit.exchange import JSON_PATCH, MERGE, STRATEGIC, YAML, Answer, Ask, exchange

MAPS = "/api/v1/namespaces/default/configmaps"
MAP = Ask("POST", MAPS, {"metadata": {"name": "a"}})
TWICE = '{"data":{"k":"1","k":"2"},"zed":1,"metadata":{"nope":1}}'
OPERATIONS = '[{"op":"add","path":"/data","value":{"k":"1","k":"2"},"why":1,"op":"add"}]'
MANIFEST = "metadata: {name: b, nope: 1}\ndata:\n  k: v\n  k: w\nextra: 1\n"


def patched(body: str, content_type: str, validation: str) -> Answer:
    return exchange(MAP, Ask("PATCH", f"{MAPS}/a?fieldValidation={validation}", body, content_type))[-1]


FOUND = [
    (TWICE, MERGE, ['duplicate field "data.k"', 'unknown field "metadata.nope"', 'unknown field "zed"']),
    (TWICE, STRATEGIC, ['duplicate field "data.k"', 'unknown field "metadata.nope"', 'unknown field "zed"']),
    (
        OPERATIONS,
        JSON_PATCH,
        [
            'json patch duplicate field "[0].value.k"',
            'json patch unknown field "[0].why"',
            'json patch duplicate field "[0].op"',
        ],
    ),
]


@pytest.mark.parametrize(("body", "content_type", "problems"), FOUND)
def test_a_patch_is_warned_about(body: str, content_type: str, problems: list[str]) -> None:
    """Keys named twice come first, then what the patched object has that its kind has not."""
    answer = patched(body, content_type, "Warn")

    assert (200, {"k": "2"}, problems) == (answer.status, answer.body["data"], answer.warnings)


@pytest.mark.parametrize(("body", "content_type", "problems"), FOUND)
def test_a_patch_is_refused_where_that_is_asked_for(body: str, content_type: str, problems: list[str]) -> None:
    """The same problems in the same order, in one message."""
    answer = patched(body, content_type, "Strict")

    assert answer.status == 422
    assert answer.message.endswith(f": strict decoding error: {', '.join(problems)}")


@pytest.mark.parametrize(
    ("body", "content_type", "status", "message"),
    [
        ("{", MERGE, 400, "Invalid JSON Patch"),
        ('"x"', MERGE, 400, "Invalid JSON Patch"),
        ("{", JSON_PATCH, 400, "unexpected end of JSON input"),
        ("{}", JSON_PATCH, 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ("[1]", JSON_PATCH, 400, "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
        ('[{"op":1}]', JSON_PATCH, 422, "the server rejected our request due to an error in our request"),
    ],
)
def test_without_validation_another_reader_refuses(body: str, content_type: str, status: int, message: str) -> None:
    """With fieldValidation=Ignore nobody looks at a patch before it is applied."""
    answer = patched(body, content_type, "Ignore")

    assert (status, message) == (answer.status, answer.message)


def test_yaml_bodies_are_read_strictly_too() -> None:
    """Each line of the YAML reader's list is a warning; unknown fields are sorted, for Go made JSON of a map."""
    warned, refused = exchange(
        Ask("POST", MAPS, MANIFEST, YAML), Ask("POST", f"{MAPS}?fieldValidation=Strict", MANIFEST, YAML)
    )

    unknown = ['unknown field "extra"', 'unknown field "metadata.nope"']
    assert [*['line 4: key "k" already set in map'], *unknown] == warned.warnings
    listed = 'yaml: unmarshal errors:\n  line 4: key "k" already set in map'
    assert refused.message.endswith(f"strict decoding error: {', '.join([listed, *unknown])}")


def test_a_patch_of_what_is_not_there_is_not_read() -> None:
    """Whether it is any good does not matter then."""
    assert exchange(Ask("PATCH", f"{MAPS}/none", "{"))[0].status == 404


@pytest.mark.parametrize(
    ("patch", "status", "part"),
    [
        ({"kind": "Secret"}, 422, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        ({"kind": "Nope"}, 422, 'no kind "Nope" is registered for version "v1"'),
        ({"kind": None}, 200, ""),
        ({"apiVersion": None}, 400, "the name of the object (a based on URL) was undeterminable"),
    ],
)
def test_what_a_patch_makes_of_the_kind(patch: dict[str, object], status: int, part: str) -> None:
    """The patched text is read as what it says it is; a strategic merge patch never was text, and may say anything."""
    merged, restored = (patched(json.dumps(patch), form, "Warn") for form in (MERGE, STRATEGIC))

    assert (status, True, 200) == (merged.status, part in merged.message, restored.status)


@pytest.mark.parametrize(
    ("content_type", "status", "part"),
    [
        ("application/merge-patch+json;charset=utf-8", 200, ""),
        ("Application/Merge-Patch+json", 415, "415: Unsupported Media Type"),
        ("application/merge-patch+json ; charset=utf-8", 415, "application/strategic-merge-patch+json, application/ap"),
    ],
)
def test_the_form_of_a_patch_is_spelled_exactly(content_type: str, status: int, part: str) -> None:
    """The router takes no capitals, and what stands behind it no blanks."""
    answer = patched("{}", content_type, "Warn")

    assert (status, True) == (answer.status, part in answer.message)
