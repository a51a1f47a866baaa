"""What a service account token says, and whether that is still so.

Follows pkg/serviceaccount/claims.go (v1.36): a token names its service account, and may be bound to a pod, a secret or
a node by name and uid. It is good as long as all of them exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from apiserver.auth.authentication import TokenRefused, User, service_account_user
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import parse_time
from kubeloop.tokens import jwt

# How far the clocks of two servers may lie apart.
LEEWAY_SECONDS = 60

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_EXTRA = "authentication.kubernetes.io/{}-{}"
_PRIVATE = "kubernetes.io"


@dataclass(frozen=True, slots=True)
class Bound:
    """The object a token lives and dies with: `kind` is pod, secret or node. A pod's node is told along with it."""

    kind: str
    object: ReadOnlyObject
    node: ReadOnlyObject | None = None

    @property
    def uid(self) -> str:
        return str(self.object["metadata"]["uid"])


def private_claims(account: ReadOnlyObject, bound: Bound | None, warn_after: int = 0) -> Object:
    """What Kubernetes adds to the claims that every JSON web token has."""
    metadata = account["metadata"]
    about: Object = {"namespace": metadata["namespace"], "serviceaccount": _reference(account)}
    if bound is not None:
        about[bound.kind] = _reference(bound.object)
        if bound.node is not None:
            about["node"] = _reference(bound.node)
    if warn_after:
        about["warnafter"] = warn_after
    return {_PRIVATE: about}


def credential_id(token: str) -> str:
    """What tells a token apart in audit logs; "" where it says nothing of itself."""
    taken_apart = jwt.take_apart(token)
    token_id = taken_apart.claims.get("jti") if taken_apart is not None else None
    return f"JTI={token_id}" if token_id else ""


def check_times(claims: Mapping[str, Any], now: datetime) -> None:
    """Raises TokenRefused for a token that is no longer, or not yet, good."""
    seconds = now.timestamp()
    if _time(claims, "nbf") > seconds + LEEWAY_SECONDS:
        raise TokenRefused("service account token is not valid yet")
    if "exp" in claims and _time(claims, "exp") < seconds - LEEWAY_SECONDS:
        raise TokenRefused("service account token has expired")
    if _time(claims, "iat") > seconds + LEEWAY_SECONDS:
        raise TokenRefused("service account token is issued in the future")


def user_of(claims: Mapping[str, Any], reader: Reader, now: datetime) -> User:
    """The service account of a token whose signature is right. TokenRefused where something it names is gone."""
    about = claims.get(_PRIVATE) or {}
    namespace, named = about.get("namespace", ""), about.get("serviceaccount") or {}
    account = reader.get("serviceaccounts", namespace, named.get("name", ""))
    if account is None:
        raise TokenRefused(f'serviceaccounts "{named.get("name", "")}" not found')
    found = account["metadata"]["uid"]
    if found != named.get("uid"):
        raise TokenRefused(f"service account UID ({found}) does not match claim ({named.get('uid', '')})")
    if _is_deleted(account, now):
        raise TokenRefused(f"service account {namespace}/{named['name']} has been deleted")
    for kind, resource in (("secret", "secrets"), ("pod", "pods"), ("node", "nodes")):
        if kind in about and not (kind == "node" and "pod" in about):
            _check_bound(
                kind, about[kind], reader.get(resource, "" if kind == "node" else namespace, _name(about[kind])), now
            )
    user = service_account_user(namespace, named["name"], named["uid"])
    return replace(user, extra=_extra(claims.get("jti", ""), about))


def _check_bound(kind: str, reference: Mapping[str, str], found: ReadOnlyObject | None, now: datetime) -> None:
    if found is None:
        raise TokenRefused("service account token has been invalidated")
    uid = found["metadata"]["uid"]
    if uid != reference.get("uid"):
        shown = f"({uid}) does not match service account {kind} ref claim ({reference.get('uid', '')})"
        raise TokenRefused(f"{kind} UID {shown}")
    if _is_deleted(found, now):
        raise TokenRefused("service account token has been invalidated")


def _is_deleted(obj: ReadOnlyObject, now: datetime) -> bool:
    """Whether the time an object had left to live is over (what is deleted keeps its rights until then)."""
    when = obj["metadata"].get("deletionTimestamp")
    return when is not None and parse_time(when) < now - timedelta(seconds=LEEWAY_SECONDS)


def _extra(token_id: str, about: Mapping[str, Any]) -> Mapping[str, list[str]]:
    """What authorization and audit learn of a token, in the order of the names."""
    extra = {CREDENTIAL_ID: [f"JTI={token_id}"]} if token_id else {}
    for kind in ("node", "pod"):
        reference = about.get(kind) or {}
        for part in ("name", "uid"):
            if reference.get(part):
                extra[_EXTRA.format(kind, part)] = [reference[part]]
    return extra


def _reference(obj: ReadOnlyObject) -> Object:
    return {part: obj["metadata"][part] for part in ("name", "uid") if part in obj["metadata"]}


def _name(reference: Mapping[str, str]) -> str:
    return reference.get("name", "")


def _time(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenRefused(f"service account token: {name} is no time")
    return float(value)
