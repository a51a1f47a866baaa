"""Other minor versions of Kubernetes: their kinds and fields, with the same defaults and checks."""

from __future__ import annotations

import pytest
import yaml

from apiserver.handlers.bodies import Decoder
from apiserver.registry.catalog import Kind
from apiserver.registry.options import Warnings
from apiserver.resources.catalog import KINDS
from apiserver.schema.codec import DecodeError
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.meta import Object, deep_copy
from kubeloop.apimachinery.releases import RELEASES
from tests.testkit.stack import ROOT

SCHEMAS = {release: Schema.load(release) for release in RELEASES}
EXAMPLES = [yaml.safe_load(file.read_text()) for file in sorted((ROOT / "examples" / "manifests").rglob("*.yaml"))]


def kind_of(example: Object) -> Kind | None:
    api_version, kind = example["apiVersion"], example["kind"]
    return next((k for k in KINDS if (k.resource.api_version, k.resource.kind) == (api_version, kind)), None)


@pytest.mark.parametrize("release", RELEASES)
def test_defaults_are_fields_of_every_version(release: str) -> None:
    """What is filled in is the same in all of them, and no version is given a field it does not have."""
    schema = SCHEMAS[release]
    decoder, tried = Decoder(schema), 0

    for example in EXAMPLES:
        kind = kind_of(example)
        if kind is None or not schema.definition_name(*kind.gvk):
            continue
        obj = decoder.decode(kind, deep_copy(example), "Strict", Warnings())
        shown = kind.conversion.from_stored(obj) if kind.conversion is not None else obj
        assert not schema.codec(*kind.gvk).decode(shown).problems, example["metadata"]["name"]
        tried += 1

    assert tried > 70


def test_what_a_version_lacks_is_not_served() -> None:
    """The kinds that became GA later."""
    missing = {
        release: {kind.resource.kind for kind in KINDS if not schema.definition_name(*kind.gvk)}
        for release, schema in SCHEMAS.items()
    }

    mutation = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
    devices = {"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"}
    assert {"1.34": mutation, "1.35": mutation, "1.36": set(), "1.37": set()} == {
        release: kinds for release, kinds in missing.items() if release != "1.33"
    }
    assert mutation | devices | {"VolumeAttributesClass"} == missing["1.33"]


@pytest.mark.parametrize(
    ("spec", "first"), [({"hostnameOverride": "x"}, "1.34"), ({"evictionResponders": [{"name": "a"}]}, "1.37")]
)
def test_a_field_is_unknown_before_the_version_that_brought_it(spec: Object, first: str) -> None:
    """Strict validation refuses it there, and takes it from then on."""
    kind = kind_of({"apiVersion": "v1", "kind": "Pod"})
    assert kind is not None
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [], **spec}}

    refused = []
    for release, schema in SCHEMAS.items():
        try:
            Decoder(schema).decode(kind, deep_copy(pod), "Strict", Warnings())
        except DecodeError as error:
            assert f'unknown field "spec.{next(iter(spec))}"' in str(error)
            refused.append(release)

    assert list(RELEASES[: RELEASES.index(first)]) == refused
