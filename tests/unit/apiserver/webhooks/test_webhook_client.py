"""Calling a webhook, over real TLS connections: what is sent, what comes back, and what is said where nothing does."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apiserver.outgoing.outgoing import Outgoing
from apiserver.outgoing.services import ServiceResolver
from apiserver.webhooks import client as client_module
from apiserver.webhooks.client import WebhookClient
from apiserver.webhooks.errors import UnusableClient, WebhookError
from kubeloop.apimachinery.forwarding import FORWARD_TO
from tests.testkit.https import Authority, HttpsServer, Request, as_json, serving
from tests.testkit.reader import DictReader

PATIENCE_SECONDS = 90  # a busy machine may stand still for some of them
REVIEW = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "u1"}}
ANSWER = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"uid": "u1", "allowed": True}}


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.new()


def call(
    config: dict[str, Any], *services: dict[str, Any], times: int = 1, timeout: float = PATIENCE_SECONDS
) -> dict[str, Any]:
    async def calls() -> dict[str, Any]:
        outgoing = Outgoing(ServiceResolver(DictReader().put("services", *services)))
        client = WebhookClient(outgoing)
        try:
            for _ in range(times):
                answer = await client.post(config, REVIEW, timeout)
        finally:
            await outgoing.close()
        return answer

    return asyncio.run(calls())


def refusal(config: dict[str, Any], *services: dict[str, Any], timeout: float = PATIENCE_SECONDS) -> str:
    with pytest.raises(WebhookError) as caught:
        call(config, *services, timeout=timeout)
    return str(caught.value)


def a_service(**metadata_and_spec: Any) -> dict[str, Any]:
    spec = {"type": "ClusterIP", "clusterIP": "10.96.0.9", "ports": [{"port": 443}], **metadata_and_spec}
    annotations = spec.pop("annotations", {})
    return {"metadata": {"name": "hook", "namespace": "default", "annotations": annotations}, "spec": spec}


def test_the_review_is_posted_as_json_and_the_answer_is_returned(authority: Authority, tmp_path: Path) -> None:
    """A webhook gets the review, the path and timeout it is to be called with, and upstream's name for the caller."""
    with serving(authority.context(tmp_path, ["127.0.0.1"]), lambda _: as_json(ANSWER)) as server:
        answer = call({"url": f"{server.url}/validate/", "caBundle": authority.bundle})
    assert answer == ANSWER
    assert server.requests[0].path == "/validate?timeout=90s"
    assert server.requests[0].body == REVIEW
    assert server.requests[0].headers["user-agent"] == "kube-apiserver-admission"
    assert server.requests[0].headers["content-type"] == "application/json"


def test_connections_are_used_again(authority: Authority, tmp_path: Path) -> None:
    """Five calls one after the other need one connection."""
    with serving(authority.context(tmp_path, ["127.0.0.1"]), lambda _: as_json(ANSWER)) as server:
        call({"url": server.url, "caBundle": authority.bundle}, times=5)
    assert (len(server.requests), server.connections) == (5, 1)


@pytest.mark.parametrize("by", ["annotation", "external name", "endpoints"])
def test_a_service_is_dialled_where_it_leads_and_must_have_its_own_name(
    authority: Authority, tmp_path: Path, by: str
) -> None:
    """However a Service is resolved, the certificate has to be for NAME.NAMESPACE.svc, as in a real cluster."""
    reader = DictReader()
    with serving(authority.context(tmp_path, ["hook.default.svc"]), lambda _: as_json(ANSWER)) as server:
        if by == "annotation":
            reader.put("services", a_service(annotations={FORWARD_TO: f"127.0.0.1:{server.port}"}))
        elif by == "external name":
            reader.put("services", a_service(type="ExternalName", externalName="localhost"))
        else:
            reader.put("services", a_service(ports=[{"name": "web", "port": server.port, "targetPort": 1}]))
            reader.put(
                "endpointslices.discovery.k8s.io",
                {
                    "metadata": {
                        "name": "hook-1",
                        "namespace": "default",
                        "labels": {"kubernetes.io/service-name": "hook"},
                    },
                    "ports": [{"name": "web", "port": server.port}],
                    "endpoints": [
                        {"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod"}},
                        {"addresses": ["10.0.0.2"], "conditions": {"ready": False}},
                        {"addresses": ["127.0.0.1"]},
                    ],
                },
            )
        port = 443 if by == "annotation" else server.port
        service = {"name": "hook", "namespace": "default", "path": "/mutate", "port": port}

        async def post() -> dict[str, Any]:
            outgoing = Outgoing(ServiceResolver(reader))
            try:
                return await WebhookClient(outgoing).post(
                    {"service": service, "caBundle": authority.bundle}, REVIEW, PATIENCE_SECONDS
                )
            finally:
                await outgoing.close()

        assert asyncio.run(post()) == ANSWER
    assert server.requests[0].path == "/mutate?timeout=90s"
    assert server.requests[0].headers["host"] == f"hook.default.svc:{port}"


SERVICE = {"service": {"name": "hook", "namespace": "default", "path": "/m", "port": 443}}
POSTED = 'Post "https://hook.default.svc:443/m?timeout=90s": '


@pytest.mark.parametrize(
    ("services", "why"),
    [
        ([], 'service "hook" not found'),
        ([a_service(ports=[{"port": 80}])], 'no service port 443 found for service "hook"'),
        ([a_service(clusterIP="None")], 'cannot route to service with ClusterIP "None"'),
        (
            [a_service()],
            "dial tcp 10.96.0.9:443: connect: no route to host (the pods of this cluster are simulated; "
            "annotate the service with kubeloop.io/forward-to: HOST:PORT)",
        ),
        (
            [a_service(annotations={FORWARD_TO: "localhost"})],
            'annotation kubeloop.io/forward-to of service "hook" is not HOST:PORT: "localhost"',
        ),
        (
            [a_service(annotations={FORWARD_TO: "http://10.0.0.1:80"})],
            'annotation kubeloop.io/forward-to of service "hook": plain HTTP stays on this machine, and "10.0.0.1" is '
            "no loopback address",
        ),
    ],
)
def test_a_service_that_leads_nowhere_is_told_of(services: list[dict[str, Any]], why: str) -> None:
    """Nobody is called, and the text says what is missing."""
    assert refusal(SERVICE, *services) == POSTED + why


def test_an_annotation_may_ask_for_plain_http_on_this_machine() -> None:
    """`http://` in the annotation spares a webhook under development its certificate."""
    with serving(None, lambda _: as_json(ANSWER)) as server:
        service = a_service(annotations={FORWARD_TO: f"http://127.0.0.1:{server.port}"})
        assert call(SERVICE, service) == ANSWER
    assert server.requests[0].headers["host"] == "hook.default.svc:443"


def test_the_kubernetes_service_is_the_server_itself() -> None:
    """default/kubernetes needs no annotation."""
    found = ServiceResolver(DictReader(), "127.0.0.1:6443").resolve("default", "kubernetes", 443)
    assert found == ("127.0.0.1:6443", False)


def test_a_refused_connection_is_told_of_as_go_does() -> None:
    """The port that was dialled is named."""
    with socket.socket() as held:  # bound and not listening: nobody answers there
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        shown = f"https://127.0.0.1:{port}/?timeout=90s"
        why = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
        assert refusal({"url": f"https://127.0.0.1:{port}"}) == f'Post "{shown}": {why}'


def test_an_answer_that_does_not_come_in_time_is_given_up(authority: Authority, tmp_path: Path) -> None:
    """A second of waiting, then the words of Go's context package."""

    def never(request: Request) -> Any:
        server.is_closing.wait()
        return as_json(ANSWER)

    with serving(authority.context(tmp_path, ["127.0.0.1"]), never) as server:
        text = refusal({"url": server.url, "caBundle": authority.bundle}, timeout=1)
    assert text == f'Post "{server.url}/?timeout=1s": context deadline exceeded'


@pytest.mark.parametrize(
    ("names", "trusted", "why"),
    [
        (["127.0.0.1"], False, "certificate signed by unknown authority"),
        (["localhost"], True, "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"),
        (["10.0.0.1", "10.0.0.2"], True, "certificate is valid for 10.0.0.1, 10.0.0.2, not 127.0.0.1"),
    ],
)
def test_a_certificate_that_does_not_fit_is_refused(
    authority: Authority, tmp_path: Path, names: list[str], trusted: bool, why: str
) -> None:
    """The webhook is not called, and the text says what the certificate is good for."""
    bundle = (authority if trusted else Authority.new("another")).bundle
    with serving(authority.context(tmp_path, names), lambda _: as_json(ANSWER)) as server:
        text = refusal({"url": server.url, "caBundle": bundle})
    assert text == f'Post "{server.url}/?timeout=90s": tls: failed to verify certificate: x509: {why}'
    assert not server.requests


def test_a_name_that_the_certificate_does_not_have_is_refused(authority: Authority, tmp_path: Path) -> None:
    """The names it does have are listed."""
    with serving(authority.context(tmp_path, ["other.default.svc"]), lambda _: as_json(ANSWER)) as server:
        service = a_service(annotations={FORWARD_TO: f"127.0.0.1:{server.port}"})
        text = refusal({**SERVICE, "caBundle": authority.bundle}, service)
    why = "x509: certificate is valid for other.default.svc, not hook.default.svc"
    assert text == f"{POSTED}tls: failed to verify certificate: {why}"


def test_plain_http_is_recognised() -> None:
    """A webhook that was started without TLS is the commonest mistake of all."""
    with serving(None, lambda _: as_json(ANSWER)) as server:
        text = refusal({"url": server.url})
    assert text == f'Post "{server.url}/?timeout=90s": http: server gave HTTP response to HTTPS client'


def _text(code: int, body: str, content_type: str = "text/plain") -> Callable[[Request], Any]:
    return lambda _: (code, content_type, body.encode())


@pytest.mark.parametrize(
    ("respond", "why"),
    [
        (_text(404, "404 page not found"), "the server could not find the requested resource"),
        (_text(500, "it broke\n"), 'an error on the server ("it broke") has prevented the request from succeeding'),
        (
            _text(500, "{}", "application/json"),
            'an error on the server ("unknown") has prevented the request from succeeding',
        ),
        (_text(302, ""), "the server responded with the status code 302 but did not return more information"),
        (_text(403, "go away"), "go away"),
        (lambda _: as_json({"kind": "Status", "status": "Failure", "message": "no", "code": 418}, 418), "no"),
        (_text(200, ""), "0-length response with status code: 200 and content type: text/plain"),
        (
            _text(200, "<html>"),
            "couldn't get version/kind; json parse error: invalid character '<' looking for beginning of value",
        ),
        (
            lambda _: as_json({**ANSWER, "apiVersion": "admission.k8s.io/v1beta1"}),
            "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            lambda _: as_json({**ANSWER, "kind": "Review"}),
            'no kind "Review" is registered for version "admission.k8s.io/v1" in scheme '
            '"k8s.io/apiserver/pkg/util/webhook/client.go:71"',
        ),
    ],
)
def test_an_answer_that_is_no_review_is_told_of(
    authority: Authority, tmp_path: Path, respond: Callable[[Request], Any], why: str
) -> None:
    """As client-go words it."""
    with serving(authority.context(tmp_path, ["127.0.0.1"]), respond) as server:
        assert refusal({"url": server.url, "caBundle": authority.bundle}) == why


def test_an_answer_that_says_no_kind_is_handed_on(authority: Authority, tmp_path: Path) -> None:
    """Whether that will do is for the caller to say: v1 refuses it, v1beta1 did not."""
    with serving(authority.context(tmp_path, ["127.0.0.1"]), lambda _: as_json({"response": {}})) as server:
        assert call({"url": server.url, "caBundle": authority.bundle}) == {"response": {}}


def test_an_endless_answer_is_cut_off(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's memory is not the webhook's to fill."""
    monkeypatch.setattr(client_module, "MAX_ANSWER_BYTES", 1000)
    with serving(authority.context(tmp_path, ["127.0.0.1"]), _text(200, " " * 2000)) as server:
        assert refusal({"url": server.url, "caBundle": authority.bundle}) == "the response is larger than 1000 bytes"


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({}, "webhook configuration must have either service or URL"),
        (
            {"url": "https://127.0.0.1", "caBundle": "bm90IGEgY2VydGlmaWNhdGU="},
            "unable to load root certificates: unable to parse bytes as PEM block",
        ),
    ],
)
def test_a_config_that_no_client_can_be_made_from_is_refused(config: dict[str, Any], why: str) -> None:
    """Nobody was called, which callers word differently."""
    with pytest.raises(UnusableClient) as caught:
        call(config)
    assert str(caught.value) == why


def test_a_call_that_is_given_up_leaves_the_others_alone(authority: Authority, tmp_path: Path) -> None:
    """A webhook that hangs for one request answers the next one on another connection."""

    def first_never(request: Request) -> Any:
        if request.body["request"]["uid"] == "slow":
            server.is_closing.wait()
        return as_json(ANSWER)

    async def both(server: HttpsServer) -> list[Any]:
        outgoing = Outgoing(ServiceResolver(DictReader()))
        client = WebhookClient(outgoing)
        config = {"url": server.url, "caBundle": authority.bundle}
        slow = {**REVIEW, "request": {"uid": "slow"}}
        try:
            return await asyncio.gather(
                client.post(config, slow, 1), client.post(config, REVIEW, PATIENCE_SECONDS), return_exceptions=True
            )
        finally:
            await outgoing.close()

    with serving(authority.context(tmp_path, ["127.0.0.1"]), first_never) as server:
        hung, answered = asyncio.run(both(server))
    assert isinstance(hung, WebhookError)
    assert answered == ANSWER


@pytest.mark.parametrize("forward", ["[::1]:1", "127.0.0.1:1"])
def test_addresses_of_both_families_are_dialled(forward: str) -> None:
    """A Service may lead to an IPv6 address as well."""
    config = {"service": {"namespace": "default", "name": "hook"}}
    assert f": dial tcp {forward}: connect: " in refusal(config, a_service(annotations={FORWARD_TO: forward}))


@pytest.fixture
def no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """No host has a name, and nobody asks a DNS, which may be far away or not be there."""

    numeric = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:
        return numeric(host, port, family, type, proto, flags | socket.AI_NUMERICHOST)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.usefixtures("no_names")
def test_a_host_is_never_taken_for_another(authority: Authority, tmp_path: Path) -> None:
    """Letters that are no ASCII are not just left out of a host's name: it is asked for as DNS knows it."""
    with serving(authority.context(tmp_path, ["127.0.0.1"]), lambda _: as_json(ANSWER)) as server:
        config = {"url": f"https://127.0.0.1\u00e4:{server.port}", "caBundle": authority.bundle}
        assert "xn--1-0fa: no such host" in refusal(config)
        service = {"service": {"namespace": "default", "name": "hook"}, "caBundle": authority.bundle}
        for forward in (f"\u00e4127.0.0.1:{server.port}", "127.0.0.1:\u00b2", "::1:80", "127.0.0.1:000443"):
            assert "is not HOST:PORT" in refusal(service, a_service(annotations={FORWARD_TO: forward}))
    assert server.connections == 0


@pytest.mark.usefixtures("no_names")
@pytest.mark.parametrize("host", ["\u00e4" * 80, "a b", "\U0001f600." * 2])
def test_a_host_that_cannot_be_is_told_as_one_that_is_not_there(host: str) -> None:
    """What no name of a host can be ends in an error of the call, not of the server."""
    assert "no such host" in refusal({"url": f"https://{host}/x"})


def test_a_url_that_is_too_long_is_an_error_of_the_call() -> None:
    """Whatever cannot be called says so."""
    assert "dial tcp" in refusal({"url": f"https://127.0.0.1:1/{'a' * 70_000}"})
