"""Who hears of which changes of an informer."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubeloop.apimachinery.meta import Object, controller_of
from kubeloop.apimachinery.resource import JOBS, REPLICA_SETS, Resource
from kubeloop.client import handlers
from kubeloop.client.handlers import Handlers
from kubeloop.client.store import Delta

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
KINDS = [REPLICA_SETS, JOBS, WIDGETS]

controllers = st.sampled_from(
    [
        None,
        ("apps/v1", "ReplicaSet"),
        ("apps/v1beta2", "ReplicaSet"),
        ("extensions/v1beta1", "ReplicaSet"),
        ("batch/v1", "Job"),
        ("example.com/v1", "Widget"),
        ("v1", "Widget"),
    ]
)
objects = st.builds(lambda controller, is_controlled: an_object(controller, is_controlled), controllers, st.booleans())
deltas = (
    st.builds(Delta, objects, objects) | st.builds(Delta, st.none(), objects) | st.builds(Delta, objects, st.none())
)
wanted = st.none() | st.lists(st.sampled_from([*KINDS, None]), max_size=3)


def an_object(controller: tuple[str, str] | None, is_controlled: bool) -> Object:
    if controller is None:
        return {"metadata": {"name": "a"}}
    owner = {"apiVersion": controller[0], "kind": controller[1], "name": "o", "uid": "o", "controller": is_controlled}
    return {"metadata": {"name": "a", "ownerReferences": [owner]}}


def is_controlled_by(obj: Object, kind: Resource | None) -> bool:
    reference = controller_of(obj)
    if reference is None or kind is None:
        return reference is None and kind is None
    return (reference["apiVersion"].rpartition("/")[0], reference["kind"]) == (kind.group, kind.kind)


@given(st.lists(wanted, max_size=5), st.lists(deltas, max_size=10))
def test_each_hears_of_what_it_asked_for(asked: list[Collection[Resource | None] | None], changes: list[Delta]) -> None:
    """Whoever named kinds hears of objects that such a one controls before or after; the others of all; in order."""
    all_handlers = Handlers()
    heard: list[tuple[int, Delta]] = []
    for i, kinds in enumerate(asked):
        all_handlers.add(partial(lambda i, delta: heard.append((i, delta)), i), kinds)

    for delta in changes:
        for handler in all_handlers.of(delta):
            handler(delta)

    expected: list[Any] = [
        (i, delta)
        for delta in changes
        for i, kinds in enumerate(asked)
        if kinds is None or any(is_controlled_by(obj, kind) for obj in delta if obj is not None for kind in kinds)
    ]
    assert expected == heard


def test_kinds_of_owners_are_not_remembered_for_ever() -> None:
    """As many kinds as users name: the memory stays bounded, and the answers right."""
    choosy = Handlers()
    choosy.add(lambda delta: None, [JOBS])

    for i in range(3 * handlers.MAX_ROUTES):
        assert [] == choosy.of(Delta(None, an_object((f"g{i}/v1", "Kind"), True)))

    assert len(choosy._routes) <= handlers.MAX_ROUTES
    assert 1 == len(choosy.of(Delta(None, an_object(("batch/v1", "Job"), True))))
