"""What a patch left as it was is not read, restored or put in order again: that comes to the same as doing it."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from apiserver.handlers.bodies import Decoder
from apiserver.patch import restoring, strategic_merge
from apiserver.registry.catalog import Kind
from apiserver.registry.options import IGNORE, Warnings
from apiserver.resources.catalog import KINDS
from apiserver.schema.codec import Codec, Decoded, DecodeError
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.errors import ApiError
from tests.fuzz.instances import Instances

SCHEMA, INSTANCES = Schema.load("1.36"), Instances()
DECODER = Decoder(SCHEMA)
MISFITS = (None, 1, 1.0, 1.5, -(1 << 40), True, "x", "", [], [None], {}, {"x": 1})

Object = dict[str, Any]


def decoded(codec: Codec, value: Object, known: Object | None = None) -> Decoded | str:
    try:
        return codec.decode(value, known=known)
    except DecodeError as error:
        return str(error)


def spoilt(value: Any, rng: random.Random) -> Any:
    """`value`, in which now and then something is replaced by what may not be of its type."""
    if rng.random() < 0.03:
        return rng.choice(MISFITS)
    if isinstance(value, dict):
        return {name: spoilt(item, rng) for name, item in value.items()}
    return [spoilt(item, rng) for item in value] if isinstance(value, list) else value


def a_patch(kind: Kind, rng: random.Random) -> Object:
    """Some fields of another object, and of the metadata often no more than an uid."""
    other = INSTANCES.of(rng, kind, "")
    other["metadata"] = rng.choice(({"uid": "u"}, {"labels": {"b": "1", "a": "2"}}, other["metadata"]))
    names = rng.sample(sorted(other), rng.randint(1, len(other)))
    return {name: spoilt(other[name], rng) for name in names if name not in ("kind", "apiVersion")}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.resource.api_version}/{kind.resource.kind}")
def test_a_patched_object_is_what_a_look_at_all_of_it_makes_it(kind: Kind) -> None:
    """Read and put in order as a whole it is the same, or refused in the same words; nothing given is changed."""
    resource = kind.resource
    codec = SCHEMA.codec(resource.group, resource.version, resource.kind)
    order = SCHEMA.order(resource.group, resource.version, resource.kind)
    for seed in range(8):
        rng = random.Random(seed)
        old = decoded(codec, INSTANCES.of(rng, kind, ""))
        assert isinstance(old, Decoded)
        document, patch = order(old.object, {}), a_patch(kind, rng)
        before = copy.deepcopy((document, patch))

        try:
            patched = strategic_merge.apply(document, patch, codec.node)
        except ApiError:
            continue  # what was spoilt was one of a list's items
        plainly, quickly = decoded(codec, patched), decoded(codec, patched, document)

        assert plainly == quickly
        assert before == (document, patch)
        if isinstance(quickly, Decoded):
            assert repr(patched) == repr(restoring.restored(patched, patch, codec.node)), "what is read needs no repair"
            new = {name: quickly.object[name] for name in rng.sample(list(quickly.object), len(quickly.object))}
            assert repr(order(new, {})) == repr(order(new, document))


WITH_STATUS = [kind for kind in KINDS if kind.subresource("status") is not None]


@pytest.mark.parametrize("kind", WITH_STATUS, ids=lambda kind: f"{kind.resource.api_version}/{kind.resource.kind}")
def test_a_patch_of_a_status_leaves_the_stored_object_as_it_is(kind: Kind) -> None:
    """What it does not name is the stored object's own: defaults find nothing to do in it, rules change nothing."""
    for seed in range(8):
        rng = random.Random(seed)
        stored = DECODER.decode(kind, INSTANCES.of(rng, kind, ""), IGNORE, Warnings(), is_typed=True)
        before = copy.deepcopy(stored)
        patched = {**stored, "status": INSTANCES.of(rng, kind, "").get("status", {})}

        plainly = DECODER.decode(kind, patched, IGNORE, Warnings(), is_typed=True)
        new = DECODER.decode(kind, patched, IGNORE, Warnings(), is_typed=True, known=stored)
        assert plainly == new
        kind.strategy.update_rules("status").prepare(new, stored)
        assert before == stored
