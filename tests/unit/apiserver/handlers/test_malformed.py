"""Requests that a fuzzer once got a 500 of ours for, or an answer that upstream would not give."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from apiserver.server import ApiServer
from apiserver.storage.memory import MemoryStorage
from kubeloop.testing import virtual_time
from kubeloop.testing.transport import InProcessTransport

MERGE, JSON_PATCH, APPLY = "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
Call = tuple[str, str, str, Any]  # method, path, media type, body


def answers(calls: Sequence[Call]) -> list[Any]:
    """The bodies of what a server of its own answers, one call after the other."""

    async def ask() -> list[Any]:
        server = ApiServer(MemoryStorage(), virtual_time.LoopClock(), random.Random(1))
        transport = InProcessTransport(server.app)
        async with server.running(), httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await _ask(client, *call) for call in calls]

    return virtual_time.run(ask())


async def _ask(client: httpx.AsyncClient, method: str, path: str, media_type: str, body: Any) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body)
    response = await client.request(method, path, content=content, headers={"Content-Type": media_type})
    return response.json()


def config_map(**metadata: str) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}}


def created(obj: Any, path: str = CONFIG_MAPS) -> Call:
    return "POST", path, "application/json", obj


@pytest.mark.parametrize("patch", [{"kind": []}, {"apiVersion": 5}])
def test_a_patch_that_makes_the_kind_no_text(patch: Any) -> None:
    """The result is no object of the kind, in the words of whoever reads kind and apiVersion."""
    _, refused = answers([created(config_map()), ("PATCH", f"{CONFIG_MAPS}/a", MERGE, patch)])

    assert (422, "Invalid") == (refused["code"], refused["reason"])
    assert "couldn't get version/kind; json parse error: json: cannot unmarshal" in refused["message"]


def test_a_new_object_with_a_version() -> None:
    """It is the storage that minds, after validation; a dry run does not get there; no number is no version."""
    wrong_name, refused, rehearsed, taken = answers(
        [
            created(config_map(name="A_", resourceVersion="5")),
            created(config_map(resourceVersion="5")),
            created(config_map(resourceVersion="5"), f"{CONFIG_MAPS}?dryRun=All"),
            created(config_map(resourceVersion="x")),
        ]
    )

    assert (422, 500) == (wrong_name["code"], refused["code"])
    assert "resourceVersion should not be set on objects to be created" == refused["message"]
    assert ("a", "a") == (rehearsed["metadata"]["name"], taken["metadata"]["name"])


def test_an_apply_to_an_object_that_is_not_of_its_type() -> None:
    """A list whose items lack their key is stored as upstream stores it, and only an apply minds."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "b"}}
    _, refused = answers(
        [
            created({**account, "secrets": [{"namespace": "x"}]}, ACCOUNTS),
            ("PATCH", f"{ACCOUNTS}/b?fieldManager=me", APPLY, account),
        ]
    )

    assert 500 == refused["code"]
    assert refused["message"] == (
        "failed to create manager for existing fields: failed to convert new object "
        "(default/b; /v1, Kind=ServiceAccount) to smd typed: .secrets: element 0: associative list with keys has an "
        'element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)'
    )


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        (
            {"ports": [{"name": "a"}, {"name": "b"}]},
            500,
            '.spec.ports: duplicate entries for key [port=0,protocol="TCP"]',
        ),
        (
            {"ports": [{"name": "a"}]},
            422,
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        ({"healthCheckNodePort": 1.5}, 500, "to /v1, Kind=Service: cannot convert float64 to int32"),
        ({"healthCheckNodePort": 2**31}, 422, "Invalid value: -2147483648: may only be set when"),
        (
            {"ports": [{"port": 80, "targetPort": 1.5}]},
            500,
            "json: cannot unmarshal number 1.5 into Go value of type int32",
        ),
    ],
)
def test_what_an_apply_says_is_read_as_go_reads_its_maps(spec: dict[str, Any], code: int, message: str) -> None:
    """Keys that Go always writes have their zero, and numbers that are too large wrap."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "b"},
        "spec": {"type": "LoadBalancer", **spec},
    }
    refused = answers([("PATCH", "/api/v1/namespaces/default/services/b?fieldManager=me", APPLY, service)])[0]

    assert code == refused["code"]
    assert message in refused["message"]


@pytest.mark.parametrize("version", ["9" * 5000, "18446744073709551616"])
def test_versions_of_thousands_of_digits(version: str) -> None:
    """A number that no 64 bits hold is out of range, on lists, gets and in bodies."""
    listed, got, _, put = answers(
        [
            ("GET", f"{CONFIG_MAPS}?resourceVersion={version}", "", b""),
            ("GET", f"{CONFIG_MAPS}/a?resourceVersion={version}", "", b""),
            created(config_map()),
            ("PUT", f"{CONFIG_MAPS}/a", "application/json", config_map(resourceVersion=version)),
        ]
    )

    assert [400, 500, 500] == [listed["code"], got["code"], put["code"]]
    assert all(answer["message"].endswith(": value out of range") for answer in (listed, got, put))


def test_a_limit_of_thousands_of_digits() -> None:
    """So is a number in the query."""
    (refused,) = answers([("GET", f"{CONFIG_MAPS}?limit={'9' * 5000}", "", b"")])

    assert refused["message"] == f'strconv.ParseInt: parsing "{"9" * 5000}": value out of range'
