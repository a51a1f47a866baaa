"""/metrics of a server in the same process, after a few requests."""

from __future__ import annotations

import json

from apiserver.handlers.request_metrics import MAX_SERIES, Labels, Requests
from kubeloop.apimachinery.exposition import text
from tests.testkit.exchange import APPLY, Ask, exchange

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
A_MAP = {"metadata": {"name": "a"}}


def lines_after(*asks: Ask) -> list[str]:
    """The samples of /metrics."""
    body: str = exchange(*asks, Ask("GET", "/metrics"))[-1].body
    return [line for line in body.splitlines() if not line.startswith("#")]


def requests_counted(*asks: Ask) -> set[str]:
    """The labels of apiserver_request_total that these requests make, without what is the same for all."""
    found = set()
    for line in lines_after(*asks):
        if line.startswith("apiserver_request_total{"):
            found.add(line.partition("{")[2].replace('component="apiserver",', "").replace('version="v1"} 1', "}"))
    return found


def test_requests_are_told_apart_as_upstream() -> None:
    """By method, but for lists and applies; by what they are about; by scope, dry run and code."""
    found = requests_counted(
        Ask("POST", f"{CONFIG_MAPS}?dryRun=All", A_MAP),
        Ask("PATCH", f"{CONFIG_MAPS}/a?fieldManager=m", {"apiVersion": "v1", "kind": "ConfigMap", **A_MAP}, APPLY),
        Ask("GET", f"{CONFIG_MAPS}/none"),
        Ask("GET", CONFIG_MAPS),
        Ask("GET", "/api/v1/configmaps"),
        Ask("GET", "/apis/apps/v1/namespaces/default/deployments/d/scale"),
    )

    core = 'dry_run="",group="",resource="configmaps"'
    assert {
        'code="201",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="POST",}',
        f'code="201",{core},scope="resource",subresource="",verb="APPLY",}}',
        f'code="404",{core},scope="resource",subresource="",verb="GET",}}',
        f'code="200",{core},scope="namespace",subresource="",verb="LIST",}}',
        f'code="200",{core},scope="cluster",subresource="",verb="LIST",}}',
        'code="404",dry_run="",group="apps",resource="deployments",scope="resource",subresource="scale",verb="GET",}',
    } == found


def test_every_part_of_the_server_says_what_it_counts() -> None:
    """The gate, admission, the cache, the process: each under upstream's name."""
    lines = lines_after(Ask("POST", CONFIG_MAPS, A_MAP), Ask("GET", CONFIG_MAPS))

    names = {line.partition("{")[0].partition(" ")[0] for line in lines}
    assert {
        "apiserver_admission_controller_admission_duration_seconds_bucket",
        "apiserver_admission_step_admission_duration_seconds_count",
        "apiserver_current_inflight_requests",
        "apiserver_request_duration_seconds_bucket",
        "apiserver_request_sli_duration_seconds_sum",
        "apiserver_resource_objects",
        "apiserver_response_sizes_bucket",
        "apiserver_storage_objects",
        "authenticated_user_requests",
        "authentication_attempts",
        "authorization_attempts_total",
        "kubernetes_build_info",
        "process_resident_memory_bytes",
    } <= names
    assert 'apiserver_resource_objects{group="",resource="configmaps"} 2' in lines  # one is the server's own
    assert 'apiserver_storage_objects{resource="deployments.apps"} 0' in lines


def test_deprecated_apis_are_named() -> None:
    """Once somebody asked for one."""
    lines = lines_after(Ask("GET", "/api/v1/namespaces/default/endpoints"))

    wanted = 'group="",removed_release="",resource="endpoints",subresource="",version="v1"'
    assert f"apiserver_requested_deprecated_apis{{{wanted}}} 1" in lines


def test_label_sets_have_an_end() -> None:
    """What comes on top of as many as there may be is counted without its labels."""
    requests = Requests(lambda: 0.0)
    for i in range(MAX_SERIES + 5):
        with requests.measure("GET") as measured:
            measured.labels = Labels("GET", resource=f"r{i}")

    counted = text(requests.families())
    assert 'verb="other",version=""} 5\n' in counted
    assert f'resource="r{MAX_SERIES}"' not in counted


def test_the_index_names_every_path() -> None:
    """Groups, versions, health and its checks, documents."""
    index = exchange(Ask("GET", "/"))[0].body
    paths = (index if isinstance(index, dict) else json.loads(index))["paths"]

    assert sorted(paths) == paths
    expected = {
        "/api/v1",
        "/apis/apps/v1",
        "/readyz/poststarthook/rbac/bootstrap-roles",
        "/livez/ping",
        "/metrics/slis",
    }
    assert expected <= {*paths}


def test_head_is_no_method_of_built_in_resources() -> None:
    """Nor of discovery; /healthz and its like answer to any."""
    answers = exchange(
        Ask("HEAD", CONFIG_MAPS), Ask("HEAD", "/apis"), Ask("OPTIONS", CONFIG_MAPS), Ask("HEAD", "/healthz"),
        Ask("GET", "/healthz/"), Ask("GET", "/version/"),
    )  # fmt: skip

    assert [405, 405, 405, 200, 404, 200] == [answer.status for answer in answers]
