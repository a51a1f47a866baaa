"""certificatesigningrequest-approving-controller: approves the client certificates that nodes ask for.

Whether the requester may have one is RBAC's decision: `create` on certificatesigningrequests/selfnodeclient for his
own, /nodeclient for anybody's. Who was refused is asked about again, as rights may come later.
pkg/controller/certificates/approver, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from controllers.certificates import decisions
from controllers.certificates.signers import NODE_CLIENT, node_client_fault
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, name_of
from kubeloop.apimachinery.resource import CERTIFICATE_SIGNING_REQUESTS, SUBJECT_ACCESS_REVIEWS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result, Unfinished
from kubeloop.runtime.source import For

_OWN, _ANYBODYS = "selfnodeclient", "nodeclient"
_MESSAGES = {
    _OWN: "Auto approving self kubelet client certificate after SubjectAccessReview.",
    _ANYBODYS: "Auto approving kubelet client certificate after SubjectAccessReview.",
}


def add_approver(manager: Manager) -> None:
    requests = manager.informer(CERTIFICATE_SIGNING_REQUESTS)
    manager.add(Controller("csrapproving", Approver(manager.api, requests), [For(requests)], workers=5))


class Approver:
    def __init__(self, api: Api, requests: Informer) -> None:
        self._api, self._requests = api, requests

    async def reconcile(self, key: ObjectKey) -> Result:
        request = self._requests.get(key)
        if request is None or decisions.is_issued(request) or decisions.is_decided(request):
            return DONE
        tried = []
        for right in rights_to_ask_for(request):
            tried.append(right)
            if await self._may(request, right):
                await self._approve(request, _MESSAGES[right])
                return DONE
        if tried:
            shown = f"recognized csr {name_of(request)} as [{' '.join(tried)}]"
            raise Unfinished(f"{shown} but subject access review was not approved")
        return DONE

    async def _may(self, request: ReadOnlyObject, right: str) -> bool:
        spec = request["spec"]
        asked = {
            "user": spec.get("username"),
            "uid": spec.get("uid"),
            "groups": spec.get("groups"),
            "extra": spec.get("extra"),
            "resourceAttributes": {
                "group": CERTIFICATE_SIGNING_REQUESTS.group,
                "resource": CERTIFICATE_SIGNING_REQUESTS.plural,
                "subresource": right,
                "verb": "create",
                "version": "*",
            },
        }
        kind = {"apiVersion": SUBJECT_ACCESS_REVIEWS.api_version, "kind": SUBJECT_ACCESS_REVIEWS.kind}
        review = {**kind, "spec": {k: v for k, v in asked.items() if v}}
        answer = await self._api.create(SUBJECT_ACCESS_REVIEWS, review)
        return bool((answer.get("status") or {}).get("allowed"))

    async def _approve(self, request: ReadOnlyObject, message: str) -> None:
        condition: Object = {
            "type": decisions.APPROVED,
            "status": "True",
            "reason": "AutoApproved",
            "message": message,
        }
        status = request.get("status") or {}
        conditions = [*(status.get("conditions") or ()), condition]
        approved = {**request, "status": {**status, "conditions": conditions}}
        await self._api.update(CERTIFICATE_SIGNING_REQUESTS, approved, subresource="approval")


def rights_to_ask_for(request: ReadOnlyObject) -> Iterator[str]:
    """The rights by which a node's certificate may be had; none where it is not one that this loop decides on."""
    spec = request["spec"]
    asked = decisions.asked_for(request)
    if spec.get("signerName") != NODE_CLIENT or node_client_fault(asked, spec.get("usages") or ()):
        return
    if spec.get("username") == asked.common_name:
        yield _OWN
    yield _ANYBODYS
