"""What a body says it is, and the refusals of bodies that are something else."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.schema.definitions import Schema
from apiserver.schema.type_meta import GroupVersionKind, TypeMetaError, refusal, sent_kind, unrecognized

SCHEMA = Schema.load()
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


@pytest.mark.parametrize(
    "body", [None, {}, {"kind": "ConfigMap"}, {"apiVersion": "v1"}, {"kind": "", "apiVersion": None}]
)
def test_what_a_body_leaves_out_is_taken_from_the_path(body: Any) -> None:
    """kind and apiVersion may be missing, empty or null."""
    sent = sent_kind(body, CONFIG_MAP)

    assert CONFIG_MAP == sent
    assert "" == refusal(SCHEMA, sent, CONFIG_MAP)


@pytest.mark.parametrize(
    ("body", "expected_kind", "message"),
    [
        (
            {"kind": "Secret"},
            CONFIG_MAP,
            'Secret in version "v1" cannot be handled as a ConfigMap: '
            "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
        (
            {"kind": "Pod", "apiVersion": "v1"},
            DEPLOYMENT,
            'Pod in version "v1" cannot be handled as a Deployment: '
            "converting (v1.Pod) to (apps.Deployment): unknown conversion",
        ),
        (
            {"kind": "Deployment", "apiVersion": "extensions/v1beta1"},
            DEPLOYMENT,
            "the API version in the data (extensions/v1beta1) does not match the expected API version (apps/v1)",
        ),
        (
            {"kind": "ConfigMap", "apiVersion": "v2"},
            CONFIG_MAP,
            'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered '
            'for version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
    ],
)
def test_another_kind_is_refused(body: Any, expected_kind: GroupVersionKind, message: str) -> None:
    """A known kind cannot be converted, an old version does not match, an unknown kind is not registered."""
    assert message == refusal(SCHEMA, sent_kind(body, expected_kind), expected_kind)


def test_a_body_that_is_no_object_is_not_recognised() -> None:
    """The refusal quotes the first bytes, in hexadecimal where they cannot be JSON's."""
    with pytest.raises(TypeMetaError) as caught:
        sent_kind({"apiVersion": "a/b/c"}, CONFIG_MAP)

    raw = b'{"apiVersion": "a/b/c", "kind": "ConfigMap"}'
    expected = "the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c"
    assert expected + ' ({"apiVersion": "a/b/c", "kind" ...)' == unrecognized("ConfigMap", caught.value, raw)
    assert expected + " (5b5d)" == unrecognized("ConfigMap", caught.value, b"[]")
    assert expected + " (<empty>)" == unrecognized("ConfigMap", caught.value, b"")
