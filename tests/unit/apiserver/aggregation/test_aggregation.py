"""An aggregated API, through a whole server: availability, what is passed on, what discovery says of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import orjson
import pytest

from apiserver.aggregation.known_by import NAME as NAME_OF_TRUST
from apiserver.aggregation.known_by import known_by, publish
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.resource import (
    API_SERVICES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    ENDPOINT_SLICES,
    SERVICES,
)
from kubeloop.client.transport import Request
from kubeloop.testing.cluster import Cluster, run_cluster
from tests.testkit.extension import DISCOVERED, GROUP, VERSION, Extension, a_service, an_api_service

NAME = f"{VERSION}.{GROUP}"
PATH = f"/apis/{GROUP}/{VERSION}"
FRUITS = f"{PATH}/namespaces/default/fruits"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

Check = Callable[[Cluster, Extension], Awaitable[None]]


def played(check: Check) -> None:
    """`check` in a cluster whose Services lead to one extension server."""

    async def main(cluster: Cluster) -> None:
        await check(cluster, extension)

    extension = Extension()
    run_cluster(main, webhook_transports=extension.transport)


async def available(cluster: Cluster, name: str = NAME) -> dict[str, Any]:
    found = await cluster.api.get(API_SERVICES, name)
    return dict(get_condition(conditions_of(found), "Available") or {})


async def becomes(cluster: Cluster, status: str, reason: str) -> str:
    """The message of the condition, once it is as it should be."""

    async def is_so() -> bool:
        condition = await available(cluster)
        return (condition.get("status"), condition.get("reason")) == (status, reason)

    await cluster.eventually(is_so)
    return str((await available(cluster))["message"])


async def add(cluster: Cluster, service: dict[str, Any] | None = None, **spec: Any) -> None:
    """The APIService and its Service, both there and the first available."""
    await cluster.create(service or a_service(), SERVICES)
    await cluster.create(an_api_service(**spec), API_SERVICES)
    await becomes(cluster, "True", "Passed")


async def ask(cluster: Cluster, method: str, target: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
    """A request with headers of its own; code and JSON of the answer."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    response = await cluster.transport("test").send(Request(method, target, sent, body))
    try:
        return response.status, orjson.loads(await response.read())
    finally:
        await response.aclose()


async def raw(cluster: Cluster, headers: dict[str, str] | None = None) -> httpx.Response:
    """The fruits, with the headers of the answer."""
    request = httpx.Request("GET", f"http://localhost{FRUITS}", headers=headers)
    return await cluster.transport("test").handle_async_request(request)


async def refusal(call: Awaitable[Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await call
    return caught.value


# -- availability -----------------------------------------------------------------------------------------------------


def test_what_this_server_answers_has_local_apiservices() -> None:
    """Every built-in group version is listed, available, with upstream's priorities; their own group is not."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        listed = {one["metadata"]["name"]: one for one in await cluster.list(API_SERVICES)}
        assert {"v1.", "v1.apps", "v2.autoscaling", "v1.autoscaling"} <= listed.keys()
        assert "v1.apiregistration.k8s.io" not in listed
        apps = listed["v1.apps"]
        assert apps["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
        assert apps["spec"] == {"group": "apps", "version": "v1", "groupPriorityMinimum": 17800, "versionPriority": 15}
        condition = await available(cluster, "v1.apps")
        assert (condition["status"], condition["reason"]) == ("True", "Local")
        assert condition["message"] == "Local APIServices are always available"

    played(check)


def test_a_server_that_answers_makes_its_apiservice_available() -> None:
    """Service, then discovery: all checks passed."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await cluster.create(an_api_service(), API_SERVICES)
        assert await becomes(cluster, "False", "ServiceNotFound") == 'service/fruit in "default" is not present'
        await cluster.create(a_service(), SERVICES)
        assert await becomes(cluster, "True", "Passed") == "all checks passed"

    played(check)


@pytest.mark.parametrize(
    ("service", "slices", "reason", "message"),
    [
        (
            a_service("", ports=[{"port": 80}]),
            [],
            "ServicePortError",
            'service/fruit in "default" is not listening on port 443',
        ),
        (a_service(""), [], "EndpointsNotFound", 'cannot find endpointslices for service/fruit in "default"'),
        (
            a_service(""),
            [{"ports": [{"name": "other", "port": 1}], "endpoints": [{"addresses": ["10.0.0.1"]}]}],
            "MissingEndpoints",
            'endpointslices for service/fruit in "default" have no addresses with port name ""',
        ),
    ],
)
def test_a_service_that_leads_to_nobody_is_told_of(
    service: dict[str, Any], slices: list[dict[str, Any]], reason: str, message: str
) -> None:
    """The reasons and words are upstream's."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await cluster.create(service, SERVICES)
        for one in slices:
            metadata = {"name": "fruit-1", "namespace": "default", "labels": {"kubernetes.io/service-name": "fruit"}}
            await cluster.create({"metadata": metadata, "addressType": "IPv4", **one}, ENDPOINT_SLICES)
        await cluster.create(an_api_service(), API_SERVICES)
        assert await becomes(cluster, "False", reason) == message

    played(check)


def test_a_server_that_went_away_is_noticed_and_so_is_its_return() -> None:
    """Nobody tells of it: it is asked every half minute. Requests are answered with 503 meanwhile."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        extension.is_down = True
        failed = await becomes(cluster, "False", "FailedDiscoveryCheck")
        url = f"https://127.0.0.1:9{PATH}"
        assert failed == f'failing or missing response from {url}: Get "{url}": connection refused'
        error = await refusal(cluster.api.request("GET", FRUITS))
        assert (error.code, error.message) == (503, "service unavailable")
        extension.is_down = False
        await becomes(cluster, "True", "Passed")
        assert (await cluster.api.request("GET", FRUITS))["kind"] == "FruitList"

    played(check)


def test_a_server_without_the_group_version_is_not_available() -> None:
    """What it answers is named."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        extension.status = 404
        await cluster.create(a_service(), SERVICES)
        await cluster.create(an_api_service(), API_SERVICES)
        url = f"https://127.0.0.1:9{PATH}"
        failed = await becomes(cluster, "False", "FailedDiscoveryCheck")
        assert failed == f"failing or missing response from {url}: bad status from {url}: 404"

    played(check)


def test_an_apiservice_that_goes_takes_its_group_along() -> None:
    """Its paths are nobody's any more, its keeper asks no more."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        await cluster.api.delete(API_SERVICES, NAME)

        async def is_gone() -> bool:
            groups = (await cluster.api.request("GET", "/apis"))["groups"]
            return all(group["name"] != GROUP for group in groups)

        await cluster.eventually(is_gone)
        assert (await refusal(cluster.api.request("GET", FRUITS))).code == 404
        asked = len(extension.asked)
        await cluster.clock.sleep(120)
        assert len(extension.asked) == asked

    played(check)


# -- what is passed on ------------------------------------------------------------------------------------------------


def test_a_request_is_passed_on_with_who_asks() -> None:
    """Path and query as they were sent; credentials and what others claim to be are not passed on."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        headers = {
            "X-Remote-User": "mallory",
            "X-Remote-Extra-Scopes": "all",
            "Impersonate-User": "alice",
            "Impersonate-Group": "system:masters",
            "Impersonate-Extra-example.com%2Fteam": "blue",
            "X-Mine": "yes",
        }
        status, answer = await ask(cluster, "GET", f"{FRUITS}?limit=5&labelSelector=a%3Db", **headers)
        assert (status, answer["kind"]) == (200, "FruitList")
        asked = extension.asked_for(FRUITS)[-1]
        assert asked.target == f"{FRUITS}?limit=5&labelSelector=a%3Db"
        assert asked.header("x-remote-user") == ["alice"]
        assert asked.header("x-remote-group") == ["system:masters", "system:authenticated"]
        assert asked.header("x-remote-extra-example.com%2fteam") == ["blue"]
        assert asked.header("x-mine") == ["yes"]
        assert not asked.header("x-remote-extra-scopes")
        assert not asked.header("impersonate-user")

    played(check)


def test_nobody_gets_past_authorization() -> None:
    """Whoever may not is refused here; the extension is not asked."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        status, answer = await ask(cluster, "GET", FRUITS, impersonate_user="bob")
        assert (status, answer["reason"]) == (403, "Forbidden")
        assert f'cannot list resource "fruits" in API group "{GROUP}"' in answer["message"]
        assert not extension.asked_for(FRUITS)

    played(check)


@pytest.mark.parametrize(
    ("sent", "asked"),
    [
        (f"{PATH}/../../../api/v1/secrets", f"{PATH}/../../../api/v1/secrets"),
        (f"{PATH}/%2e%2e/a%2Fb/%c3%a9!", f"{PATH}/../a/b/%C3%A9%21"),
    ],
)
def test_the_path_that_was_authorized_is_the_path_that_is_asked_for(sent: str, asked: str) -> None:
    """Nothing on the way makes another one of it: dots lead out of the group, escaped slashes to other objects."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        await ask(cluster, "GET", sent)
        assert extension.asked[-1].target == asked

    played(check)


def test_headers_of_one_connection_end_here() -> None:
    """Those that Connection names, in both directions."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        extension.bare[FRUITS] = (200, [(b"connection", b"X-Theirs"), (b"x-theirs", b"1"), (b"x-fruit", b"yes")])
        sent = {"connection": "close, X-Mine", "x-mine": "1", "x-fruit": "yes"}
        response = await raw(cluster, sent)
        asked = extension.asked_for(FRUITS)[-1]
        assert (asked.header("x-mine"), asked.header("x-fruit")) == ([], ["yes"])
        assert not {"connection", "x-theirs"} & response.headers.keys()
        assert response.headers["x-fruit"] == "yes"
        await response.aclose()

    played(check)


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (
            (302, [(b"location", b"/api/v1/secrets")]),
            502,
            "the backend attempted to redirect this request, which is not",
        ),
        ((999, []), 502, "the backend answered with the unknown status 999"),
        ((304, [(b"content-length", b"5")]), 304, ""),
        ((204, [(b"content-length", b"5")]), 204, ""),
    ],
)
def test_odd_answers_are_refused_or_made_fit(
    answer: tuple[int, list[tuple[bytes, bytes]]], status: int, text: str
) -> None:
    """Clients are sent nowhere else; there is no length of a body that is not sent."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        extension.bare[FRUITS] = answer
        response = await raw(cluster)
        assert response.status_code == status
        body = await response.aread()
        assert body.decode().startswith(text)
        assert response.headers.get("content-length", str(len(body))) == str(len(body))
        await response.aclose()

    played(check)


def test_a_body_is_passed_on() -> None:
    """A write goes to the extension as it is; its refusal comes back as it is."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        error = await refusal(cluster.api.request("POST", f"{FRUITS}/apple/eat", body={"bites": 3}))
        assert error.code == 404
        assert extension.asked_for(f"{FRUITS}/apple/eat")[-1].body == b'{"bites":3}'

    played(check)


def test_a_watch_streams_and_ends_with_its_client() -> None:
    """Each event comes when it is sent; when the client goes away, the extension sees it go."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        response = await cluster.transport("test").send(Request("GET", f"{FRUITS}?watch=true", {}, b""))
        chunks = response.chunks()
        await extension.events.put(b'{"type":"ADDED"}\n')
        assert await anext(chunks) == b'{"type":"ADDED"}\n'
        await cluster.clock.sleep(600)
        await extension.events.put(b'{"type":"DELETED"}\n')
        assert await anext(chunks) == b'{"type":"DELETED"}\n'
        assert not extension.hung_up.is_set()
        await response.aclose()
        async with asyncio.timeout(5):
            await extension.hung_up.wait()

    played(check)


def test_a_client_that_hangs_up_ends_what_was_passed_on_for_it() -> None:
    """Told by the server in front, which ends no request by itself."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        gone, sent = asyncio.Event(), asyncio.Queue[Any]()

        async def receive() -> dict[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        scope = {"type": "http", "method": "GET", "path": FRUITS, "query_string": b"watch=true", "headers": []}
        asking = asyncio.ensure_future(cluster.server.app(scope, receive, sent.put))
        assert (await sent.get())["status"] == 200
        gone.set()
        async with asyncio.timeout(5):
            await asking
            await extension.hung_up.wait()

    played(check)


def test_a_server_that_stops_ends_the_watches_it_passed_on() -> None:
    """As its own: they would last for ever, and it would wait for them."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        response = await cluster.transport("test").send(Request("GET", f"{FRUITS}?watch=true", {}, b""))
        cluster.server.end_watches()
        async with asyncio.timeout(5):
            assert [chunk async for chunk in response.chunks()] == []
            await extension.hung_up.wait()
        await response.aclose()

    played(check)


@pytest.mark.parametrize(
    ("path", "seconds", "message"),
    [
        (PATH, 5, "error trying to reach service: context deadline exceeded"),
        (FRUITS, 60, "Timeout: request did not complete within requested timeout - context deadline exceeded"),
        (f"{FRUITS}?timeout=2s", 2, "Timeout: request did not complete within requested timeout"),
    ],
)
def test_a_server_that_does_not_answer_is_given_up(path: str, seconds: float, message: str) -> None:
    """Discovery soon, for everybody waits for it; anything else when the time of a request is over."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        extension.is_silent = True
        began = cluster.clock.monotonic()
        response = await cluster.transport("test").send(Request("GET", path, {}, b""))
        assert response.status == (503 if path == PATH else 504)
        assert message in (await response.read()).decode()
        await response.aclose()
        assert cluster.clock.monotonic() - began == pytest.approx(seconds, abs=0.1)

    played(check)


# -- discovery --------------------------------------------------------------------------------------------------------


def test_discovery_tells_of_an_aggregated_group_in_the_order_of_priorities() -> None:
    """Both forms of discovery name it, before the custom groups and after the built-in ones, with its resources."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        plain = [group["name"] for group in (await cluster.api.request("GET", "/apis"))["groups"]]
        await add(cluster)
        with_it = [group["name"] for group in (await cluster.api.request("GET", "/apis"))["groups"]]
        assert with_it == [*plain, GROUP]
        group = await cluster.api.request("GET", f"/apis/{GROUP}")
        assert group["preferredVersion"] == {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}
        _, document = await ask(cluster, "GET", "/apis", accept=AGGREGATED)
        entry = document["items"][-1]
        assert [item["metadata"]["name"] for item in document["items"]] == with_it
        version = {"version": VERSION, "resources": [DISCOVERED], "freshness": "Current"}
        assert entry == {"metadata": {"name": GROUP}, "versions": [version]}

    played(check)


def test_a_group_that_cannot_be_reached_is_listed_as_stale() -> None:
    """What was known of it stays."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        extension.is_down = True
        await becomes(cluster, "False", "FailedDiscoveryCheck")
        _, document = await ask(cluster, "GET", "/apis", accept=AGGREGATED)
        version = {"version": VERSION, "resources": [DISCOVERED], "freshness": "Stale"}
        assert document["items"][-1]["versions"] == [version]

    played(check)


@pytest.mark.parametrize("nonsense", [[], {"resources": [{"kind": "Fruit"}]}, {"resources": 1}, "fruit"])
def test_discovery_that_is_none_does_no_harm(nonsense: Any) -> None:
    """The group is stale, its paths are served, and so is everything else."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        extension.resources = nonsense
        await add(cluster)
        _, document = await ask(cluster, "GET", "/apis", accept=AGGREGATED)
        assert document["items"][-1]["versions"] == [{"version": VERSION, "freshness": "Stale"}]
        assert (await cluster.api.request("GET", FRUITS))["kind"] == "FruitList"

    played(check)


@pytest.mark.parametrize(
    "resources",
    [
        "fruits",
        [{"resource": 5}],
        [{"resource": "fruits", "verbs": "get"}],
        [{"resource": "fruits", "responseKind": [1]}],
        [{"resource": "fruits", "subresources": [{"subresource": "status", "verbs": [None]}]}],
    ],
)
def test_misshapen_discovery_is_kept_from_clients(resources: Any) -> None:
    """They decode all groups at once: one field of a wrong type, and kubectl would know of no kind at all."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        extension.groups = [{"metadata": {"name": GROUP}, "versions": [{"version": VERSION, "resources": resources}]}]
        await add(cluster)
        _, document = await ask(cluster, "GET", "/apis", accept=AGGREGATED)
        assert document["items"][-1]["versions"] == [{"version": VERSION, "freshness": "Stale"}]

    played(check)


def test_aggregated_discovery_is_taken_over_with_what_is_known_of_it() -> None:
    """Nulls and fields of another time are left out; how fresh it is this server says."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        resource = {**DISCOVERED, "categories": None, "Verbs": 5}
        version = {"version": VERSION, "resources": [resource], "freshness": "Stale"}
        extension.groups = [{"metadata": {"name": GROUP}, "versions": [version]}]
        await add(cluster)
        _, document = await ask(cluster, "GET", "/apis", accept=AGGREGATED)
        known = {"version": VERSION, "resources": [DISCOVERED], "freshness": "Current"}
        assert document["items"][-1]["versions"] == [known]

    played(check)


def test_a_higher_priority_brings_a_group_to_the_front() -> None:
    """Only the APIServices' own group comes before all."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster, groupPriorityMinimum=20000)
        names = [group["name"] for group in (await cluster.api.request("GET", "/apis"))["groups"]]
        assert names[:3] == ["apiregistration.k8s.io", GROUP, "apps"]

    played(check)


def test_openapi_has_the_documents_of_aggregated_apis() -> None:
    """The index names them and where they are, and they are fetched from their server."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        index = await cluster.api.request("GET", "/openapi/v3")
        url = index["paths"][f"apis/{GROUP}/{VERSION}"]["serverRelativeURL"]
        assert "apis/apps/v1" in index["paths"]
        assert (await cluster.api.request("GET", url))["info"]["title"] == "fruit"

    played(check)


def test_aggregated_servers_are_told_whom_to_believe() -> None:
    """In the ConfigMap they read when they start, which is kept up to date and keeps what others wrote into it."""
    data = known_by("users", "front", ["front-proxy-client"])
    assert data["requestheader-allowed-names"] == '["front-proxy-client"]'

    async def check(cluster: Cluster, extension: Extension) -> None:
        registry = cluster.server.registry
        await publish(registry, {})
        await publish(registry, {**data, "client-ca-file": "old"})
        await cluster.api.patch(CONFIG_MAPS, NAME_OF_TRUST, {"data": {"mine": "too"}}, "kube-system")
        await publish(registry, data)
        await publish(registry, data)
        found = await cluster.api.get(CONFIG_MAPS, NAME_OF_TRUST, "kube-system")
        assert found["data"] == {**data, "mine": "too"}

    played(check)


def test_a_restart_finds_everything_as_it_was() -> None:
    """An aggregated API is served at once; what was made of the local APIServices is mended."""

    async def check(cluster: Cluster, extension: Extension) -> None:
        await add(cluster)
        await cluster.api.patch(API_SERVICES, "v1.apps", {"spec": {"versionPriority": 3}})
        await cluster.api.delete(API_SERVICES, "v1.batch")
        await cluster.stop_server()
        await cluster.start_server()
        assert (await cluster.api.request("GET", FRUITS))["kind"] == "FruitList"
        assert (await cluster.api.get(API_SERVICES, "v1.apps"))["spec"]["versionPriority"] == 15
        assert (await available(cluster, "v1.batch"))["status"] == "True"

    played(check)


def test_custom_resources_get_apiservices_of_their_own() -> None:
    """One for each served version, which goes with the definition."""
    anything = {"type": "object"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "nuts.nut.example.com"},
        "spec": {
            "group": "nut.example.com",
            "scope": "Namespaced",
            "names": {"plural": "nuts", "kind": "Nut"},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == "v1",
                    "schema": {"openAPIV3Schema": anything},
                }
                for name in ("v1", "v2")
            ],
        },
    }

    async def check(cluster: Cluster, extension: Extension) -> None:
        async def names() -> set[str]:
            listed = await cluster.list(API_SERVICES)
            return {one["metadata"]["name"] for one in listed if "nut" in one["metadata"]["name"]}

        async def are(wanted: set[str]) -> bool:
            return await names() == wanted

        await cluster.create(definition, CUSTOM_RESOURCE_DEFINITIONS)
        await cluster.eventually(lambda: are({"v1.nut.example.com", "v2.nut.example.com"}))
        spec = (await cluster.api.get(API_SERVICES, "v1.nut.example.com"))["spec"]
        assert (spec["groupPriorityMinimum"], spec["versionPriority"]) == (1000, 100)
        await cluster.api.delete(API_SERVICES, "v1.nut.example.com")
        await cluster.eventually(lambda: are({"v1.nut.example.com", "v2.nut.example.com"}))
        await cluster.api.delete(CUSTOM_RESOURCE_DEFINITIONS, "nuts.nut.example.com")
        await cluster.eventually(lambda: are(set()))

    played(check)
