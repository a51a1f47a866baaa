"""Webhooks for a server in the same process: what they were asked, and what they answer."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable
from typing import Any

import httpx

from tests.testkit.exchange import Answer, Ask, exchange

Review = dict[str, Any]
Respond = Callable[[Review], Any]  # the request of a review -> its response; an httpx error to raise; a whole Response

GROUP = "/apis/admissionregistration.k8s.io/v1"
EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


class Hooks:
    """Answers `https://NAME.test/` by the function of that name; `asked` are all requests of reviews, in order."""

    def __init__(self, **by_name: Respond) -> None:
        self._by_name = by_name
        self.asked: list[tuple[str, Review]] = []
        self.reviews: list[Review] = []

    def transport(self, context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
        return httpx.MockTransport(self._answer)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        review, name = json.loads(request.content), request.url.host.partition(".")[0]
        self.reviews.append(review)
        self.asked.append((name, review["request"]))
        response = self._by_name[name](review["request"])
        if isinstance(response, Exception):
            raise response
        if isinstance(response, httpx.Response):
            return response
        answer = {"uid": review["request"]["uid"], **response}
        return httpx.Response(
            200, json={"kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": answer}
        )

    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


def allow(request: Review) -> Review:
    return {"allowed": True}


def deny(message: str = "", **status: Any) -> Respond:
    given = {**({"message": message} if message else {}), **status}
    return lambda request: {"allowed": False, **({"status": given} if given else {})}


def patch(*operations: Review) -> Respond:
    """Allows, and changes the object by these operations."""
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


def add(path: str, value: Any) -> Review:
    return {"op": "add", "path": path, "value": value}


def a_webhook(name: str, *rules: Review, **fields: Any) -> Review:
    """Is asked about ConfigMaps unless rules say otherwise."""
    of_config_maps = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    return {
        "name": f"{name}.example.com",
        "clientConfig": {"url": f"https://{name}.test"},
        "rules": list(rules) or [of_config_maps],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }


def mutating(*webhooks: Review, name: str = "m") -> Ask:
    return _configuration("Mutating", name, *webhooks)


def validating(*webhooks: Review, name: str = "v") -> Ask:
    return _configuration("Validating", name, *webhooks)


def _configuration(step: str, name: str, *webhooks: Review) -> Ask:
    kind = f"{step}WebhookConfiguration"
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
    return Ask("POST", f"{GROUP}/{kind.lower()}s", {**body, "webhooks": list(webhooks)})


DENIED = 'admission webhook "v.example.com" denied the request'
MAPS = "/api/v1/namespaces/default/configmaps"
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
CREATE = Ask("POST", MAPS, MAP)
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]},
    },
}
DEPLOYMENTS, PODS = "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces/default/pods"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


def last(hooks: Hooks, *asks: Ask) -> Answer:
    answers = exchange(*asks, webhook_transports=hooks.transport)
    for answer in answers[:-1]:
        assert answer.status < 300, answer.body
    return answers[-1]
