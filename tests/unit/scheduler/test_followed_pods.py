"""What the scheduler works out the short way for pods that change as most do, held against the long way."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controllers.scheduler.events import followed_pod_update_events, pod_update_events
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.requests import NON_ZERO_REQUESTS, non_zero_requests, pod_requests
from kubeloop.apimachinery.meta import Object

amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "example.com/gpu"]), st.sampled_from(["0", "1", "2"]))
resources = st.none() | st.builds(lambda requests: {"requests": requests}, amounts)
containers = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("ab"), "resources": resources}, optional={"restartPolicy": st.just("Always")}
    ),
    max_size=2,
)
reports = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("ab"), "resources": resources}, optional={"allocatedResources": amounts}
    ),
    max_size=2,
)
resizes = st.sampled_from([[], [{"type": "PodResizePending", "reason": "Infeasible"}], [{"type": "Ready"}]])
claims = st.sampled_from([[], [{"name": "c", "resourceClaimName": "d"}]])
statuses = st.fixed_dictionaries({"containerStatuses": reports, "conditions": resizes, "resourceClaimStatuses": claims})
specs = st.fixed_dictionaries({"containers": containers, "initContainers": containers, "resources": resources})


def a_pod(spec: Object, status: Object, **metadata: Any) -> Object:
    return {"metadata": {"name": "p", "uid": "u", **metadata}, "spec": {**spec, "nodeName": "a"}, "status": status}


@given(specs, statuses, statuses, st.sampled_from([{}, {"labels": {"a": "b"}}]))
def test_a_report_means_what_any_update_would(spec: Object, before: Object, after: Object, metadata: Object) -> None:
    """Of a pod that is followed, the events are those of a comparison of all its parts."""
    old, new = a_pod(spec, before), a_pod(spec, after, **metadata)

    if PodInfo(old).follow(new):
        assert pod_update_events(old, new) == followed_pod_update_events(old, new)


@given(specs, statuses)
def test_who_asks_for_all_is_not_worked_out_twice(spec: Object, status: Object) -> None:
    """What counts for scoring is what counts with a default in the place of everything that is not asked for."""
    pod = a_pod(spec, status)
    requests = pod_requests(pod)
    of_pod = ((spec.get("resources") or {}).get("requests") or {}).keys() & {"cpu", "memory"}
    missing = {name: n for name, n in NON_ZERO_REQUESTS.items() if not of_pod or name not in requests}
    scored = pod_requests(pod, missing) if missing else requests

    assert (scored.get("cpu", 0), scored.get("memory", 0)) == non_zero_requests(pod, requests)
