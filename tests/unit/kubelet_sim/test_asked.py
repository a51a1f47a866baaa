"""What is remembered of what pods ask for is what would be worked out anew."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubelet_sim.asked import amount, asked_for
from kubeloop.apimachinery.pod_resources import is_pod_level, pod_limits, pod_requests

AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage", "example.com/gpu"]),
    st.sampled_from(["0", "1", "100m", "1500m", "64Mi", "1Gi", "1e3", "1000k"]),
    max_size=3,
)
RESOURCES = st.fixed_dictionaries({}, optional={"requests": AMOUNTS, "limits": AMOUNTS})


def containers(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    one = st.fixed_dictionaries({"name": st.just("c")}, optional={"resources": RESOURCES, **fields})
    return st.lists(one, max_size=3)


SPECS = st.fixed_dictionaries(
    {"containers": containers()},
    optional={
        "initContainers": containers(restartPolicy=st.just("Always")),
        "overhead": AMOUNTS,
        "resources": RESOURCES,
        "nodeName": st.just("node-0"),
    },
)


@given(st.lists(SPECS, min_size=1, max_size=4))
def test_pods_that_ask_alike_and_others(specs: list[dict[str, Any]]) -> None:
    """Whatever was asked for before: requests, pod-level resources and amounts."""
    for spec in specs:
        pod = {"spec": spec}
        asked, requests, limits = asked_for(pod), pod_requests(pod), pod_limits(pod)

        assert {name: str(one) for name, one in requests.items()} == asked.requests
        assert {name: amount(name, one) for name, one in requests.items()} == asked.amounts
        for field, of in (("requests", requests), ("limits", limits)):
            expected = {name: str(one) for name, one in of.items() if is_pod_level(name)}
            assert expected == asked.of_pod_level.get(field, {})
            assert field not in asked.of_pod_level or asked.of_pod_level[field]
