"""The audit log: what it says, and that nobody waits for it."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from apiserver.auth.authentication import TokenFile
from apiserver.handlers.audit_log import AuditLog, AuditSettings
from apiserver.handlers.audit_policy import DEFAULT, Policy
from apiserver.server import ApiServer
from apiserver.storage.memory import MemoryStorage
from kubeloop.apimachinery.exposition import text
from kubeloop.testing import virtual_time
from tests.testkit.reader import InstantClock

TOKENS = 'admintoken,admin,admin-uid,"system:masters"\nalicetoken,alice,alice-uid,"devs"\n'
Event = dict[str, Any]


def audited(
    path: Path,
    *requests: tuple[str, str, str, bytes],
    headers: dict[str, str] | None = None,
    policy: Policy = DEFAULT,
) -> list[Event]:
    """The events of (token, method, path, body), asked one after the other of a server of its own."""

    async def ask() -> None:
        clock = virtual_time.LoopClock()
        sources = [TokenFile.parse(TOKENS)]
        server = ApiServer(
            MemoryStorage(),
            clock,
            random.Random(1),
            token_sources=sources,
            audit=AuditSettings(str(path), policy=policy),
        )
        async with server.running():
            for token, method, target, body in requests:
                await _ask(server, token, method, target, body, headers or {})

    virtual_time.run(ask())
    return [json.loads(line) for line in path.read_text().splitlines()]


async def _ask(server: ApiServer, token: str, method: str, target: str, body: bytes, headers: dict[str, str]) -> None:
    given = {"user-agent": "test/1", **headers, **({"authorization": f"Bearer {token}"} if token else {})}
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 1),
    }
    messages = iter([{"type": "http.request", "body": body}])

    async def receive() -> Any:
        return next(messages, None) or await asyncio.Event().wait()

    async def send(message: Any) -> None:
        pass

    await server.app(scope, receive, send)


def test_what_an_event_says(tmp_path: Path) -> None:
    """Who, what, when, and how it ended; what was created is named though the path does not."""
    (event,) = audited(
        tmp_path / "audit.log",
        ("admintoken", "POST", "/api/v1/namespaces/default/configmaps?fieldManager=me", b'{"metadata":{"name":"a"}}'),
    )

    del event["auditID"]
    expected = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/default/configmaps?fieldManager=me",
        "verb": "create",
        "user": {"username": "admin", "uid": "admin-uid", "groups": ["system:masters", "system:authenticated"]},
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "test/1",
        "objectRef": {"resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 201},
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
        "stageTimestamp": "2026-01-01T00:00:00.000000Z",
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
    }
    assert expected == event
    assert list(expected) == list(event)


def test_a_refusal_is_told(tmp_path: Path) -> None:
    """With the Status that the client got."""
    (event,) = audited(tmp_path / "audit.log", ("alicetoken", "GET", "/api/v1/namespaces/x/secrets/y", b""))

    assert "forbid" == event["annotations"]["authorization.k8s.io/decision"]
    assert ("Forbidden", 403) == (event["responseStatus"]["reason"], event["responseStatus"]["code"])
    assert {"resource": "secrets", "namespace": "x", "name": "y", "apiVersion": "v1"} == event["objectRef"]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"authorization": "Bearer wrong"}, "Authentication failed, attempted: bearer"),
        ({"authorization": "bearer  wrong"}, "Authentication failed, attempted: bearer"),
    ],
)
def test_somebody_unknown_makes_one_event(tmp_path: Path, headers: dict[str, str], expected: str) -> None:
    """When the refusal starts, with what was asked and how he tried to be known."""
    (event,) = audited(tmp_path / "audit.log", ("", "GET", "/api/v1/pods", b""), headers=headers)

    assert ("ResponseStarted", {}, "list") == (event["stage"], event["user"], event["verb"])
    assert {"metadata": {}, "message": expected, "code": 401} == event["responseStatus"]


def test_a_watch_makes_two_events(tmp_path: Path) -> None:
    """One when it starts and one when it ends, under the same id."""
    started, completed = audited(
        tmp_path / "audit.log", ("admintoken", "GET", "/api/v1/pods?watch=true&timeoutSeconds=5", b"")
    )

    assert ("ResponseStarted", "ResponseComplete") == (started["stage"], completed["stage"])
    assert started["auditID"] == completed["auditID"]
    assert "2026-01-01T00:00:05" == completed["stageTimestamp"][:19]


def test_an_impersonated_user_stands_beside_the_real_one(tmp_path: Path) -> None:
    """So do an id and the addresses that came with the request."""
    headers = {"Impersonate-User": "carol", "Audit-ID": "mine", "X-Forwarded-For": "10.0.0.1, 10.0.0.2"}

    (event,) = audited(tmp_path / "audit.log", ("admintoken", "GET", "/api/v1/nodes", b""), headers=headers)

    assert ("admin", "carol") == (event["user"]["username"], event["impersonatedUser"]["username"])
    assert ("mine", ["10.0.0.1", "10.0.0.2", "127.0.0.1"]) == (event["auditID"], event["sourceIPs"])


def test_events_are_added_to_a_file(tmp_path: Path) -> None:
    """What an earlier server wrote stays; nothing is lost at the end."""
    path = tmp_path / "audit.log"
    many = [("admintoken", "GET", "/version", b"")] * 3

    audited(path, *many)

    assert 6 == len(audited(path, *many))


def test_a_full_queue_drops_and_counts() -> None:
    """No request waits for a disk: what comes too fast is lost, and known to be."""
    audit_log = AuditLog(AuditSettings("-"), InstantClock(), max_waiting=2)

    for number in range(5):
        audit_log.add({"number": number})

    assert "apiserver_audit_event_total 5\n" in text(audit_log.families())
    assert 'apiserver_audit_error_total{plugin="log"} 3\n' in text(audit_log.families())


def test_a_full_disk_is_counted() -> None:
    """The server goes on."""
    audit_log = AuditLog(AuditSettings("/dev/full"), InstantClock())

    async def write() -> list[Any]:
        audit_log.add({"number": 1})
        writing = asyncio.create_task(audit_log.run())
        await asyncio.sleep(0)
        writing.cancel()
        return [type(ending) for ending in await asyncio.gather(writing, return_exceptions=True)]

    endings = asyncio.run(write())

    assert [asyncio.CancelledError] == endings
    assert 'apiserver_audit_error_total{plugin="log"} 1\n' in text(audit_log.families())


def a_policy(*rules: str, more: str = "") -> Policy:
    """Rules in YAML's flow style."""
    listed = "".join(f"\n- {rule}" for rule in rules)
    return Policy.parse(f"apiVersion: audit.k8s.io/v1\nkind: Policy\n{more}rules:{listed}\n".encode())


def test_a_policy_says_who_is_written_down(tmp_path: Path) -> None:
    """The first rule that fits; what none fits is not written, nor what stands at level None."""
    policy = a_policy(
        "{level: None, verbs: [get]}",
        "{level: Metadata, users: [alice], nonResourceURLs: ['/ap*']}",
        more="omitStages: [RequestReceived]\n",
    )
    requests = [
        ("alicetoken", "GET", "/api", b""),
        ("alicetoken", "POST", "/apis", b""),
        ("admintoken", "POST", "/apis", b""),
        ("alicetoken", "POST", "/version", b""),
    ]

    events = audited(tmp_path / "audit.log", *requests, policy=policy)

    assert [("alice", "/apis")] == [(event["user"]["username"], event["requestURI"]) for event in events]


def test_stages_of_a_request(tmp_path: Path) -> None:
    """It is received before anybody knows how it ends; both events have one id."""
    received, complete = audited(
        tmp_path / "audit.log", ("alicetoken", "GET", "/api/v1/nodes", b""), policy=a_policy("{level: Metadata}")
    )

    assert ("RequestReceived", "ResponseComplete") == (received["stage"], complete["stage"])
    assert received["auditID"] == complete["auditID"]
    assert received["requestReceivedTimestamp"] == received["stageTimestamp"]
    assert not {"responseStatus", "annotations"} & {*received}
    assert "forbid" == complete["annotations"]["authorization.k8s.io/decision"]


A_MAP = b'{"metadata":{"name":"a"},"data":{"k":"v"}}'
MAPS = "/api/v1/namespaces/default/configmaps"


def test_bodies_are_written_down_where_the_policy_says_so(tmp_path: Path) -> None:
    """What was sent from level Request on, as it was understood; the answer at RequestResponse; patches as they are."""
    policy = a_policy(
        "{level: RequestResponse, verbs: [create]}",
        "{level: Request, verbs: [patch]}",
        more="omitStages: [RequestReceived]\nomitManagedFields: true\n",
    )
    merge = {"content-type": "application/merge-patch+json"}
    (created,) = audited(tmp_path / "created.log", ("admintoken", "POST", MAPS, A_MAP), policy=policy)
    (patched,) = audited(
        tmp_path / "patched.log", ("admintoken", "PATCH", f"{MAPS}/a", b'{"data":{}}'), headers=merge, policy=policy
    )

    assert {"k": "v"} == created["requestObject"]["data"]
    assert "uid" not in created["requestObject"]["metadata"]
    assert "uid" in created["responseObject"]["metadata"]
    assert "managedFields" not in created["responseObject"]["metadata"]
    assert {"data": {}} == patched["requestObject"]
    assert "responseObject" not in patched


def test_a_deprecated_api_is_told(tmp_path: Path) -> None:
    """So that an administrator finds out who asks for it."""
    (event,) = audited(tmp_path / "audit.log", ("admintoken", "GET", "/api/v1/endpoints", b""))

    assert "true" == event["annotations"]["k8s.io/deprecated"]


def test_the_old_format_is_a_line_of_text(tmp_path: Path) -> None:
    """--audit-log-format=legacy."""
    path = tmp_path / "audit.log"
    event = {
        "auditID": "i",
        "stage": "ResponseComplete",
        "verb": "get",
        "user": {"username": "alice", "groups": ["a", "b"]},
        "requestURI": "/api",
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": "2026-01-02T00:00:00.000000Z",
    }

    async def write() -> None:
        audit_log = AuditLog(AuditSettings(str(path), "legacy"), InstantClock())
        audit_log.add(event)
        writing = asyncio.create_task(audit_log.run())
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)

    asyncio.run(write())

    expected = (
        '2026-01-02T00:00:00.000000Z AUDIT: id="i" stage="ResponseComplete" ip="<unknown>" method="get" user="alice" '
        r'groups="\"a\",\"b\"" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="/api" '
        'response="200"\n'
    )
    assert expected == path.read_text()


def test_a_token_that_is_issued_is_named(tmp_path: Path) -> None:
    """By its id, under which its uses are found again."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    _, event = audited(
        tmp_path / "audit.log",
        ("admintoken", "POST", accounts, b'{"metadata":{"name":"robot"}}'),
        ("admintoken", "POST", f"{accounts}/robot/token", b"{}"),
    )

    assert event["annotations"]["authentication.kubernetes.io/issued-credential-id"].startswith("JTI=")


def test_a_narrow_right_to_impersonate_is_told(tmp_path: Path) -> None:
    """An administrator has every right, the narrow ones too; the old one is not told."""
    user = {"Impersonate-User": "system:serviceaccount:default:robot"}
    (narrow,) = audited(tmp_path / "a.log", ("admintoken", "GET", "/api/v1/nodes", b""), headers=user)
    grouped = {**user, "Impersonate-Group": "devs"}
    (old,) = audited(tmp_path / "b.log", ("admintoken", "GET", "/api/v1/nodes", b""), headers=grouped)

    assert {"impersonationConstraint": "impersonate:serviceaccount"} == narrow["authenticationMetadata"]
    assert "authenticationMetadata" not in old
