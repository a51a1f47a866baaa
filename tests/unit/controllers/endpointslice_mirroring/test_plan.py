"""EndpointSlices that mirror Endpoints written by hand."""

from typing import Any

from controllers.endpointslice_mirroring.plan import Changes, desired, plan
from kubeloop.apimachinery.meta import Object, annotations_of, labels_of, name_of

PORTS = [{"name": "p", "port": 8080, "protocol": "TCP"}]


def an_endpoints(*subsets: Object, **metadata: Any) -> Object:
    return {"metadata": {"name": "svc", "namespace": "default", "uid": "e", **metadata}, "subsets": list(subsets)}


def decide(endpoints: Object, *existing: Object) -> Changes:
    return plan(endpoints, existing, desired(endpoints).groups)


def stored(changes: Changes, *existing: Object) -> list[Object]:
    kept = {name_of(each): each for each in existing} | {name_of(each): each for each in changes.update}
    for gone in changes.delete:
        del kept[name_of(gone)]
    for i, created in enumerate(changes.create):
        kept[f"new-{i}"] = {**created, "metadata": {**created["metadata"], "name": f"new-{i}"}}
    return list(kept.values())


def test_endpoints_are_mirrored_with_labels_and_annotations() -> None:
    """Ready and not ready addresses, ports, labels, annotations but the two that mean the object itself."""
    left_out = ("endpoints.kubernetes.io/last-change-trigger-time", "kubectl.kubernetes.io/last-applied-configuration")
    endpoints = an_endpoints(
        {"addresses": [{"ip": "10.0.0.1", "hostname": "h"}], "notReadyAddresses": [{"ip": "10.0.0.2"}], "ports": PORTS},
        labels={"mine": "yes"},
        annotations={"a": "b", **dict.fromkeys(left_out, "x")},
    )

    (mirror,) = decide(endpoints).create

    assert [
        {"addresses": ["10.0.0.1"], "conditions": {"ready": True}, "hostname": "h"},
        {"addresses": ["10.0.0.2"], "conditions": {"ready": False}},
    ] == mirror["endpoints"]
    assert (PORTS, {"a": "b"}, "yes") == (mirror["ports"], annotations_of(mirror), labels_of(mirror)["mine"])
    assert Changes() == decide(endpoints, *stored(decide(endpoints)))


def test_families_and_ports_have_slices_of_their_own() -> None:
    """One slice for each address type and set of ports; invalid addresses are counted."""
    endpoints = an_endpoints(
        {"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}, {"ip": "nonsense"}], "ports": PORTS},
        {"addresses": [{"ip": "10.0.0.9"}], "ports": [{"port": 53, "protocol": "UDP"}]},
    )

    created = decide(endpoints).create

    kinds = [(each["addressType"], each["ports"][0]["port"]) for each in created]
    assert [("IPv4", 53), ("IPv4", 8080), ("IPv6", 8080)] == sorted(kinds)
    assert (1, 1) == (desired(endpoints).invalid, desired(endpoints).skipped)


def test_other_ports_turn_one_slice_into_another() -> None:
    """It is updated, not replaced; without addresses it goes."""
    existing = stored(decide(an_endpoints({"addresses": [{"ip": "10.0.0.1"}], "ports": PORTS})))
    changed = an_endpoints({"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1, "protocol": "TCP"}]})

    changes, emptied = decide(changed, *existing), decide(an_endpoints(), *existing)

    assert (["new-0"], [], []) == ([name_of(each) for each in changes.update], changes.create, changes.delete)
    assert ["new-0"] == [name_of(each) for each in emptied.delete]
