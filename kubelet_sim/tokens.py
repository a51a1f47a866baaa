"""Tokens of service accounts in the volumes of pods, asked of the API server as a kubelet does when they are used.

Facts: pkg/kubelet/token/token_manager.go and pkg/volume/projected (v1.36): a token is asked for anew when a fifth of
its time is left.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import ReadOnlyObject, metadata, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import SERVICE_ACCOUNTS
from kubeloop.client.api import Api

MAX_KEPT = 1000  # full: the one that was looked at longest ago is asked for again
_DEFAULT_SECONDS = 3600
_USED_PART = 0.8

_Key = tuple[str, str, int]  # uid of the pod, audience, seconds


class Tokens:
    def __init__(self, api: Api, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self._kept: OrderedDict[_Key, tuple[str, datetime]] = OrderedDict()  # and when it is too old

    async def token(self, pod: ReadOnlyObject, source: Mapping[str, Any]) -> str | None:
        """As `asked`; None where the API server gives none."""
        try:
            return await self.asked(pod, source)
        except ApiError:
            return None

    async def asked(self, pod: ReadOnlyObject, source: Mapping[str, Any]) -> str:
        """`source`: a ServiceAccountTokenProjection. Raises ApiError."""
        seconds = source.get("expirationSeconds") or _DEFAULT_SECONDS
        key = (uid_of(pod), source.get("audience") or "", seconds)
        if key in self._kept and self._clock.now() < self._kept[key][1]:
            self._kept.move_to_end(key)
            return self._kept[key][0]
        spec = {"expirationSeconds": seconds, "boundObjectRef": _reference(pod)}
        spec |= {"audiences": [key[1]]} if key[1] else {}
        account = pod["spec"].get("serviceAccountName") or "default"
        request = {"metadata": {"name": account, "namespace": namespace_of(pod)}, "spec": spec}
        answer = await self._api.create(SERVICE_ACCOUNTS, request, namespace_of(pod), subresource="token", name=account)
        token: str = answer["status"]["token"]
        self._kept[key] = (token, self._clock.now() + timedelta(seconds=seconds * _USED_PART))
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return token


def _reference(pod: ReadOnlyObject) -> dict[str, str]:
    return {"kind": "Pod", "apiVersion": "v1", "name": name_of(pod), "uid": metadata(pod)["uid"]}
