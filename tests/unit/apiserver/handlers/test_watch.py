"""What a watch begins with, what it is told on the way and how it is refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.testkit.asking import Answer, Asking, on_a_server

SECRETS = "/api/v1/namespaces/default/secrets"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
LATER = ["BOOKMARK", "BOOKMARK"]  # after a minute, and shortly before the end
NOT_OLDER = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


def watched(query: str, path: str = SECRETS, **headers: str) -> Answer:
    """A watch of the secrets a and b, which ends after 70 seconds."""

    async def scenario(ask: Asking) -> Answer:
        for name in ("a", "b"):
            await ask(f"POST {SECRETS}", {"metadata": {"name": name}})
        return await ask(f"GET {path}?timeoutSeconds=70&{query}", **headers)

    return on_a_server(scenario)


def told(answer: Answer) -> list[str]:
    """Types of the events, bookmarks that end the initial events marked by !."""
    return [event["type"] + "!" * ("annotations" in event["object"].get("metadata", {})) for event in answer.events]


@pytest.mark.parametrize(
    ("query", "events"),
    [
        ("watch=1", ["ADDED", "ADDED"]),
        ("watch=1&allowWatchBookmarks=true", ["ADDED", "ADDED", "BOOKMARK!", *LATER]),
        ("watch=1&allowWatchBookmarks=true&resourceVersion=0", ["ADDED", "ADDED", "BOOKMARK!", *LATER]),
        (f"watch=1&{NOT_OLDER}", ["ADDED", "ADDED"]),
        (f"watch=1&{NOT_OLDER}&allowWatchBookmarks=true", ["ADDED", "ADDED", "BOOKMARK!", *LATER]),
        ("watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1", LATER),
        ("watch=1&resourceVersion=1&allowWatchBookmarks=1", ["ADDED", "ADDED", *LATER]),
    ],
)
def test_what_a_watch_begins_with(query: str, events: list[str]) -> None:
    """Where it asks for bookmarks, the end of the initial events is marked; more follow as time goes by."""
    assert events == told(watched(query))


def test_the_old_form_of_the_path_knows_no_mark() -> None:
    """/watch/ is no `watch` parameter: what exists comes, its end is not told."""
    answer = watched("allowWatchBookmarks=true", "/api/v1/watch/namespaces/default/secrets")

    assert ["ADDED", "ADDED", *LATER] == told(answer)


def test_a_state_that_is_yet_to_come_is_an_error_in_the_stream() -> None:
    """The request was understood, so the answer is a watch with an ERROR event."""
    answer = watched(f"watch=1&{NOT_OLDER}&resourceVersion=999999")

    assert 200 == answer.status
    assert ["ERROR"] == told(answer)
    status = answer.events[0]["object"]
    assert (504, "Timeout") == (status["code"], status["reason"])
    assert status["message"].startswith("Timeout: Too large resource version: 999999, current: ")
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    assert {"causes": [cause], "retryAfterSeconds": 1} == status["details"]


def test_a_version_that_is_compacted_is_an_error_in_the_stream() -> None:
    """410 as an event, by which a reflector knows that it has to list again."""

    async def scenario(ask: Asking) -> tuple[Answer, int]:
        made = [await ask(f"POST {SECRETS}", {"metadata": {"name": f"s{i}"}}) for i in range(3)]
        revision = int(made[-1].json["metadata"]["resourceVersion"])
        storage, cache = ask.server.registry.machinery.storage, ask.server.cache
        await storage.compact(revision)
        cache.replace(*await storage.snapshot())  # a server that was started after it
        return await ask(f"GET {SECRETS}?watch=1&resourceVersion=5"), revision

    answer, revision = on_a_server(scenario)

    assert 200 == answer.status
    status = answer.events[0]["object"]
    assert ("ERROR", 410, "Expired") == (answer.events[0]["type"], status["code"], status["reason"])
    assert f"too old resource version: 5 ({revision})" == status["message"]


@pytest.mark.parametrize("include", ["None", "Metadata", "Object"])
def test_the_end_of_the_initial_events_shows_in_tables_too(include: str) -> None:
    """Even where rows are to carry nothing, as clients that watch Tables wait for the mark."""
    answer = watched(f"watch=1&allowWatchBookmarks=true&includeObject={include}", accept=TABLE)

    rows = [event["object"]["rows"][0]["object"] for event in answer.events]
    assert INITIAL_EVENTS_END == rows[2]["metadata"]["annotations"]
    assert (rows[0] is None) is (include == "None")


@pytest.mark.parametrize(
    ("query", "headers", "code", "message"),
    [
        ("watch=1&includeObject=Foo", {"accept": TABLE}, 400, "Unable to convert to Table as requested: "),
        (
            "watch=1",
            {"accept": "application/yaml"},
            406,
            "only the following media types are accepted: application/json;stream=watch, "
            "application/vnd.kubernetes.protobuf;stream=watch",
        ),
        ("watch=1", {"accept": "application/json;stream=other"}, 406, "only the following media types are accepted: "),
        ("watch=1&resourceVersion=18446744073709551616", {}, 500, "resourceVersion: Invalid value: "),
        ("watch=1&labelSelector=!!&resourceVersionMatch=x", {}, 400, "unable to parse requirement: "),
    ],
)
def test_how_a_watch_is_refused(query: str, headers: dict[str, str], code: int, message: str) -> None:
    """Before the stream begins, with a Status."""
    answer = watched(query, **headers)

    status = yaml.safe_load(answer.body)
    assert code == answer.status == status["code"]
    assert status["message"].startswith(message)


def test_a_path_that_names_one_object_bears_no_selector_of_another() -> None:
    """A selector of other fields than the name is none that fits either."""
    path = "/api/v1/watch/namespaces/default/secrets/a"

    for selector in ("metadata.name=b", "type=Opaque"):
        assert (
            "fieldSelector metadata.name doesn't match requested name"
            == (watched(f"fieldSelector={selector}", path).json["message"])
        )
    assert ["ADDED"] == told(watched("fieldSelector=metadata.name=a", path))


def test_a_kind_that_is_only_listed_is_not_watched() -> None:
    """ComponentStatuses are made up when they are asked for."""
    answer = watched("watch=1", "/api/v1/componentstatuses")

    assert (405, {"kind": "componentstatuses"}) == (answer.status, answer.json["details"])
    assert 'watch is not supported on resources of kind "componentstatuses"' == answer.json["message"]


def test_the_old_form_of_the_path_is_for_reading() -> None:
    """DELETE /api/v1/watch/… is no watch and no delete."""

    async def scenario(ask: Asking) -> Any:
        return await ask("DELETE /api/v1/watch/namespaces/default/secrets/a")

    assert 405 == on_a_server(scenario).status


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/api/v1/pods", {"spec": {"containers": None}, "status": {}}),
        ("/api/v1/services", {"spec": {}, "status": {"loadBalancer": {}}}),
        ("/apis/networking.k8s.io/v1/ingresses", {"spec": {}, "status": {"loadBalancer": {}}}),
        ("/apis/coordination.k8s.io/v1/leases", {"spec": {}}),
        (
            "/apis/apps/v1/replicasets",
            {
                "spec": {"replicas": 0, "selector": None, "template": {"metadata": {}, "spec": {"containers": None}}},
                "status": {"replicas": 0},
            },
        ),
        ("/api/v1/configmaps", {}),
    ],
)
def test_the_object_of_a_bookmark_shows_what_its_type_always_writes(path: str, shown: dict[str, Any]) -> None:
    """A bookmark is an empty object of the kind, as Go writes one."""
    answer = watched(f"watch=1&{NOT_OLDER}&allowWatchBookmarks=true", path)

    mark = next(event["object"] for event in answer.events if event["type"] == "BOOKMARK")
    assert shown == {name: value for name, value in mark.items() if name not in ("kind", "apiVersion", "metadata")}
