"""The values under which an object is found by one of its fields."""

from __future__ import annotations

import pytest

from kubeloop.client.indexes import by_field

POD = {
    "metadata": {"name": "web", "annotations": {"example.com/team": "red"}},
    "spec": {
        "nodeName": "n1",
        "hostNetwork": False,
        "priority": 0,
        "schedulerName": "",
        "volumes": [{"name": "a", "secret": {"secretName": "s"}}, {"name": "b"}, {"name": "c", "secret": None}],
        "finalizers": ["x", "y"],
    },
    "status": None,
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (["spec.nodeName"], ["n1"]),
        (["spec", "nodeName"], ["n1"]),
        (["metadata", "annotations", "example.com/team"], ["red"]),
        (["spec.volumes.name"], ["a", "b", "c"]),
        (["spec.volumes.secret.secretName"], ["s"]),
        (["spec.finalizers"], ["x", "y"]),
        (["spec.hostNetwork"], ["false"]),
        (["spec.priority"], ["0"]),
        (["spec.schedulerName"], []),
        (["spec.absent.deeper"], []),
        (["spec.nodeName.deeper"], []),
        (["status.phase"], []),
        (["spec"], []),
    ],
)
def test_which_values_a_field_has(path: list[str], expected: list[str]) -> None:
    """Elements of lists count one by one; what is absent, null, empty or an object has no value."""
    assert expected == list(by_field(*path)(POD))
