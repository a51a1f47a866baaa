"""The selector of pods like one: remembered by what it is made of."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controllers.scheduler import default_selector
from controllers.scheduler.default_selector import DefaultSelectors
from controllers.scheduler.interface import Handle
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.meta import Object, ObjectKey, key_of
from kubeloop.apimachinery.resource import Resource
from tests.unit.scheduler.scene import FakeLister

labels = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["web", "db"]), max_size=2)
expressions = st.lists(st.just({"key": "tier", "operator": "Exists"}), max_size=1)
label_selectors = st.builds(lambda equal, more: {"matchLabels": equal, "matchExpressions": more}, labels, expressions)
owners = st.one_of(
    st.none(),
    st.tuples(st.just(("apps/v1", "ReplicaSet")), label_selectors | st.none()),
    st.tuples(st.just(("v1", "ReplicationController")), labels),
    st.tuples(st.just(("example.com/v1", "Widget")), label_selectors),
)
steps = st.tuples(labels, st.lists(labels, max_size=2), owners)


@given(st.lists(steps, max_size=20))
def test_remembered_selectors_are_those_made_anew(history: list[Any]) -> None:
    """However Services and owners change between pods, the answer is that of one that remembers nothing."""
    listers: dict[str, FakeLister] = {}

    def lister(resource: Resource) -> FakeLister:
        return listers.setdefault(resource.kind, FakeLister())

    handle = Handle(lister=lister, api=None, rng=random.Random(1))  # type: ignore[arg-type]
    remembering = DefaultSelectors(handle)

    for pod_labels, services, owner in history:
        listers["Service"].objects = by_key(a_service(f"s{i}", selector) for i, selector in enumerate(services))
        for kind in ("ReplicaSet", "ReplicationController"):
            listers[kind].objects = by_key([a_service("owner", owner[1])] if owner else [])
        pod = a_pod(pod_labels, owner and owner[0])

        assert DefaultSelectors(handle).of(pod) == remembering.of(pod)

    assert len(remembering._made) <= default_selector.MAX_SELECTORS


def by_key(objects: Iterable[Object]) -> dict[ObjectKey, Object]:
    return {key_of(obj): obj for obj in objects}


def a_service(name: str, selector: Object) -> Object:
    """Or any other object with a selector."""
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"selector": selector}}


def a_pod(pod_labels: Object, owner: tuple[str, str] | None) -> PodInfo:
    metadata: Object = {"name": "p", "namespace": "default", "labels": pod_labels}
    if owner is not None:
        reference = {"apiVersion": owner[0], "kind": owner[1], "name": "owner", "uid": "u", "controller": True}
        metadata["ownerReferences"] = [reference]
    return PodInfo({"metadata": metadata, "spec": {}})
