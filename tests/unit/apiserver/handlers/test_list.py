"""Lists: at which version, in which pages and forms."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from tests.testkit.asking import Answer, Asking, on_a_server

SECRETS = "/api/v1/namespaces/default/secrets"
PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def listed(query: str, path: str = SECRETS, **headers: str) -> Answer:
    """A list of the secrets a, b and c; `{a}` in the query is the version at which a was the only one."""

    async def scenario(ask: Asking) -> Answer:
        made = [await ask(f"POST {SECRETS}", {"metadata": {"name": name}}) for name in "abc"]
        only_a = made[0].json["metadata"]["resourceVersion"]
        return await ask(f"GET {path}?{query.replace('{a}', only_a)}", **headers)

    return on_a_server(scenario)


def token(**fields: Any) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(fields)).rstrip(b"=").decode()


def names(answer: Answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer.json["items"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("resourceVersion={a}", ["a", "b", "c"]),
        ("resourceVersion={a}&resourceVersionMatch=NotOlderThan&limit=5", ["a", "b", "c"]),
        ("resourceVersion={a}&resourceVersionMatch=Exact", ["a"]),
        ("resourceVersion={a}&limit=5", ["a"]),  # as it was before resourceVersionMatch
    ],
)
def test_which_state_a_version_asks_for(query: str, expected: list[str]) -> None:
    """At least as new, unless it says exact or comes with a limit."""
    assert expected == names(listed(query))


def test_a_token_names_the_last_object_as_seen_from_the_list() -> None:
    """Its start is the name in a list of one namespace, and has the namespace in front in a list of all."""
    starts = []
    for path in (SECRETS, "/api/v1/secrets", "/api/v1/namespaces"):
        continued = listed("limit=1", path).json["metadata"]["continue"]
        starts.append(orjson.loads(base64.urlsafe_b64decode(continued + "=="))["start"])

    assert ["a\0", "default/a\0", "default\0"] == starts


@pytest.mark.parametrize(
    ("continued", "why"),
    [
        (token(v=1), "json: cannot unmarshal number into Go struct field continueToken.v of type string"),
        (token(v="v", rv="1"), "json: cannot unmarshal string into Go struct field continueToken.rv of type int64"),
        (base64.b64encode(b"[]").decode().rstrip("="), "json: cannot unmarshal array into Go value of type storage."),
        (token(v="meta.k8s.io/v1", rv=1, start="a//b"), "a//b"),
        (token(v="meta.k8s.io/v1", rv=1, start="./b"), "./b"),
        (token(v="meta.k8s.io/v1", rv=1, start="b/"), "b/"),
        (token(v="meta.k8s.io/v1", rv=1, start="../b"), "../b"),
    ],
)
def test_how_a_bad_token_is_refused(continued: str, why: str) -> None:
    """With the words of the decoder that stumbles over it."""
    answer = listed(f"continue={continued}")

    assert 400 == answer.status
    assert answer.json["message"].startswith(f"invalid continue token: continue key is not valid: {why}")


def test_a_token_from_the_future_is_waited_for_in_vain() -> None:
    """As any version that is too large."""
    answer = listed(f"continue={token(v='meta.k8s.io/v1', rv=999999, start='a')}")

    assert (504, "Timeout") == (answer.status, answer.json["reason"])


def test_an_exact_version_that_is_compacted_is_gone() -> None:
    """410 in upstream's words, which name no version."""

    async def scenario(ask: Asking) -> Answer:
        made = await ask(f"POST {SECRETS}", {"metadata": {"name": "a"}})
        storage = ask.server.registry.machinery.storage
        await storage.compact(int(made.json["metadata"]["resourceVersion"]))
        ask.server.cache.replace(*await storage.snapshot())
        return await ask(f"GET {SECRETS}?resourceVersion=5&resourceVersionMatch=Exact")

    answer = on_a_server(scenario)

    assert (410, "Expired") == (answer.status, answer.json["reason"])
    assert "The resourceVersion for the provided list is too old." == answer.json["message"]


def test_exact_and_any_version_exclude_each_other() -> None:
    """The refusal spells the match in small letters."""
    answer = listed("resourceVersion=0&resourceVersionMatch=Exact")

    assert answer.json["message"].endswith('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')


def test_a_selector_that_cannot_be_read_comes_before_what_does_not_go_together() -> None:
    """Parameters are decoded before they are validated; numbers before selectors."""
    assert 400 == listed("labelSelector=!!&resourceVersionMatch=x").status
    assert "strconv" in listed("labelSelector=!!&limit=x").json["message"]


def test_nothing_as_metadata_is_null() -> None:
    """The real server appends to a nil slice there; rows of kinds that it has no printer for are made the same way."""
    assert listed("labelSelector=no", accept=PARTIAL).json["items"] is None
    assert listed("", "/api/v1/limitranges", accept=TABLE).json["rows"] is None
    assert [] == listed("labelSelector=no", accept=TABLE).json["rows"]
    assert [] == listed("labelSelector=no").json["items"]


@pytest.mark.parametrize(
    ("path", "selector", "message"),
    [
        ("/api/v1/nodes", "metadata.namespace=x", "field label not supported: metadata.namespace"),
        ("/api/v1/namespaces", "metadata.namespace=x", "field label not supported: metadata.namespace"),
        ("/api/v1/persistentvolumes", "metadata.namespace=x", ""),
        ("/api/v1/pods", "spec.host=x,status.podIPs=", ""),
        ("/api/v1/pods", "spec.hosts=x", "field label not supported: spec.hosts"),
    ],
)
def test_which_fields_a_kind_knows(path: str, selector: str, message: str) -> None:
    """Kinds with fields of their own list all they know; a pod's node has an old name."""
    assert message == listed(f"fieldSelector={selector}", path).json.get("message", "")


def test_the_old_name_of_a_pods_node_selects_by_it() -> None:
    """spec.host means spec.nodeName."""

    async def scenario(ask: Asking) -> list[str]:
        await ask("POST /api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
        made = await ask("POST /api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": spec})
        assert 201 == made.status, made.body
        return names(await ask("GET /api/v1/pods?fieldSelector=spec.host=n"))

    assert ["p"] == on_a_server(scenario)


@pytest.mark.parametrize(
    ("query", "headers", "is_indented"),
    [
        ("", {}, False),
        ("pretty=true", {}, True),
        ("pretty=1", {"user_agent": "kubectl/v1.36"}, True),
        ("pretty=0", {"user_agent": "curl/8.0"}, False),
        ("", {"user_agent": "curl/8.0"}, True),
        ("", {"user_agent": "Mozilla/5.0 (X11)"}, True),
        ("", {"accept": "application/json;pretty=1"}, True),
        ("limit=x&pretty=true", {}, True),
    ],
)
def test_who_gets_json_for_people(query: str, headers: dict[str, str], is_indented: bool) -> None:
    """Who asks, and tools that show what they get: lists, objects and refusals. Other JSON is a line."""
    body = listed(query, **headers).body

    assert is_indented is body.startswith(b'{\n  "kind"')
    assert is_indented is not body.endswith(b"\n")


@pytest.mark.parametrize(
    ("request_line", "headers"),
    [
        (f"GET {SECRETS}/a", {}),
        (f"GET {SECRETS}/a", {"accept": TABLE}),
        (f"GET {SECRETS}", {"accept": TABLE}),
        (f"GET {SECRETS}/none", {}),
        (f"DELETE {SECRETS}/a", {}),
        (f"DELETE {SECRETS}/a?dryRun=All", {}),
        ("GET /api/v1", {}),
        ("GET /apis", {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}),
    ],
)
def test_json_ends_with_a_line_feed(request_line: str, headers: dict[str, str]) -> None:
    """Objects, tables, refusals, what was done, discovery: whatever Go's encoder writes."""

    async def scenario(ask: Asking) -> Answer:
        await ask(f"POST {SECRETS}", {"metadata": {"name": "a"}})
        return await ask(request_line, **headers)

    body = on_a_server(scenario).body

    assert (1, True) == (body.count(b"\n"), body.endswith(b"}\n"))
