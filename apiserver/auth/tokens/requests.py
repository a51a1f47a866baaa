"""TokenRequest: what serviceaccounts/NAME/token is asked, checked and answered.

The steps and their order are those of registry/core/serviceaccount/storage/token.go (v1.36). The endpoint in
`handlers/subresources.py` brings the request and the admission chain, `ServiceAccountTokens` signs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

from apiserver.auth.tokens.claims import Bound
from apiserver.auth.tokens.service_accounts import ServiceAccountTokens
from apiserver.storage.reader import Reader
from kubeloop.apimachinery import field
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import BadRequest, Conflict, InternalError, Invalid, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import format_time

KIND, GROUP = "TokenRequest", "authentication.k8s.io"
DEFAULT_SECONDS = 60 * 60
MIN_SECONDS, MAX_SECONDS = 10 * 60, 1 << 32

# Kinds a token can be bound to -> where they are stored; pods and secrets lie in the account's namespace.
_BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class TokenRequests:
    """Answers TokenRequests."""

    def __init__(self, tokens: ServiceAccountTokens, reader: Reader, clock: Clock) -> None:
        self._tokens, self._reader, self._clock = tokens, reader, clock

    async def answer(
        self, request: Object, namespace: str, name: str, validate: Callable[[], Awaitable[None]]
    ) -> Object:
        """The request as it was granted, with the token. `validate` asks the admission chain about what it became."""
        metadata, spec = request.setdefault("metadata", {}), request.setdefault("spec", {})
        _check_name(metadata, namespace, name)
        account = self._account(namespace, name)
        _check_uid(metadata, account)
        now = self._clock.now()
        spec["audiences"] = spec.get("audiences") or list(self._tokens.settings.audiences)
        seconds = spec.get("expirationSeconds")
        seconds = spec["expirationSeconds"] = DEFAULT_SECONDS if seconds is None else seconds
        metadata |= {part: account["metadata"][part] for part in ("name", "namespace", "uid")}
        metadata["creationTimestamp"] = format_time(now)
        _check_seconds(seconds)
        await validate()
        bound = self._bound(spec.get("boundObjectRef"), namespace, name)
        token = await self._signed(account, spec, bound)
        status = {"token": token, "expirationTimestamp": format_time(now + timedelta(seconds=seconds))}
        shown = {part: spec.get(part) for part in ("audiences", "expirationSeconds", "boundObjectRef")}
        return {"kind": KIND, "apiVersion": f"{GROUP}/v1", "metadata": metadata, "spec": shown, "status": status}

    def _account(self, namespace: str, name: str) -> ReadOnlyObject:
        account = self._reader.get("serviceaccounts", namespace, name)
        if account is None:
            raise NotFound.of("serviceaccounts", "", name)
        return account

    def _bound(self, reference: Object | None, namespace: str, account: str) -> Bound | None:
        """The object the token is to be bound to, as it is now."""
        if reference is None:
            return None
        version, kind, name = (reference.get(part) or "" for part in ("apiVersion", "kind", "name"))
        group = version.partition("/")[0] if "/" in version else ""
        if group or kind not in _BINDABLE:
            shown = version if "/" in version else f"/{version}"
            raise BadRequest(f"cannot bind token to object of type {shown}, Kind={kind}")
        if not name:
            raise BadRequest("Name parameter required.")
        found = self._reader.get(_BINDABLE[kind], "" if kind == "Node" else namespace, name)
        if found is None:
            raise NotFound.of(_BINDABLE[kind], "", name)
        node = None
        if kind == "Pod":
            if found["spec"].get("serviceAccountName") != account:
                why = f"cannot bind token for serviceaccount {field.go_quote(account)}"
                raise BadRequest(f"{why} to pod running with different serviceaccount name.")
            node = self._node_of(found)
        bound = Bound(kind.lower(), found, node)
        if reference.get("uid") and reference["uid"] != bound.uid:
            why = f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record"
            raise Conflict.of(kind, "", name, f"{why}. The object might have been deleted and then recreated")
        return bound

    def _node_of(self, pod: ReadOnlyObject) -> ReadOnlyObject | None:
        """A pod's node, by its name alone where it does not exist."""
        name = pod["spec"].get("nodeName")
        return (self._reader.get("nodes", "", name) or {"metadata": {"name": name}}) if name else None

    async def _signed(self, account: ReadOnlyObject, spec: Object, bound: Bound | None) -> str:
        try:
            return await self._tokens.issue(account, spec["audiences"], spec["expirationSeconds"], bound)
        except (ValueError, OSError) as error:  # the key file
            raise InternalError.because(f"failed to generate token: {error}") from error


def _check_name(metadata: Object, namespace: str, name: str) -> None:
    """What the body says of itself must agree with the path."""
    if metadata.get("namespace", namespace) not in ("", namespace):
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    if metadata.get("name", name) not in ("", name):
        detail = "must match the service account name if specified"
        raise Invalid.of(KIND, GROUP, name, [field.invalid("metadata.name", metadata["name"], detail)])


def _check_uid(metadata: Object, account: ReadOnlyObject) -> None:
    sent, found = metadata.get("uid"), account["metadata"]["uid"]
    if sent and sent != found:
        why = f"the UID in the token request ({sent}) does not match the UID of the service account ({found})"
        raise Conflict.of(KIND, GROUP, account["metadata"]["name"], why)


def _check_seconds(seconds: int) -> None:
    details = []
    if seconds < MIN_SECONDS:
        details.append("may not specify a duration less than 10 minutes")
    if seconds > MAX_SECONDS:
        details.append("may not specify a duration larger than 2^32 seconds")
    if details:
        raise Invalid.of(KIND, GROUP, "", [field.invalid("spec.expirationSeconds", seconds, text) for text in details])
