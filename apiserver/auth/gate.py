"""The way in: who asks, as whom, and whether he may, before anybody looks whether what he asks for exists.

The application calls `Gate.admit` for every request with nothing but its first line and headers. Like the real server
(apiserver/pkg/endpoints/request and filters, v1.36) it reads the access off the path alone, so that refusals tell
nothing about what is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from apiserver.auth.authentication import User
from apiserver.auth.authorization import Access, Authorizer, Decision, forbidden
from apiserver.auth.gate_metrics import GateMetrics
from apiserver.auth.impersonation import impersonate
from kubeloop.apimachinery.errors import Unauthorized
from kubeloop.apimachinery.field_selectors import parse
from kubeloop.apimachinery.selectors import SelectorError
from kubeloop.apimachinery.validation import path_segment_errors

Query = Mapping[str, Sequence[str]]
RawHeaders = Iterable[tuple[bytes, bytes]]
# The user of an Authorization header and of the connection's client certificate, if it has one.
Authenticate = Callable[[str, User | None], User]

_VERBS = {
    "DELETE": "delete",
    "GET": "get",
    "HEAD": "get",
    "PATCH": "patch",
    "POST": "create",
    "PUT": "update",
}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


# Where the audit log finds in the ASGI scope what the gate found out.
PASSAGE = "kubeloop.passage"

_NOBODY = User("")
_SELECTING_VERBS = frozenset({"list", "watch", "deletecollection"})
_LONG_VERBS = frozenset({"watch", "proxy"})
# Subresources whose answer may take as long as it likes.
CONNECTS = frozenset({"attach", "exec", "portforward", "proxy"})
LONG_SUBRESOURCES = CONNECTS | {"log"}
_LONG_PATH = 500  # longer ones are not remembered


Note = Callable[[dict[str, Any] | bytes], None]  # takes an object, or a patch as it was sent


def unnoted(sent: dict[str, Any] | bytes) -> None:
    """What was sent with a request that nobody audits."""


@dataclass(slots=True)
class Passage:
    """What the gate found out about a request, as far as it came: filled in for the audit log."""

    user: User | None = None  # who asks
    impersonated: User | None = None  # as whom
    constraint: str = ""  # by which right, if it is a narrow one
    access: Access | None = None
    decision: Decision | None = None
    annotations: dict[str, str] = field(default_factory=dict)  # what was added on the way, in order
    on_known: Callable[[], None] = lambda: None  # called when `user` and `access` are there
    note: Note = unnoted  # told what the client sent

    def known(self, user: User, access: Access) -> None:
        self.user, self.access = user, access
        self.on_known()

    def decided(self, decision: Decision) -> None:
        self.decision = decision
        self.annotate("authorization.k8s.io/decision", "allow" if decision.allowed else "forbid")
        self.annotate("authorization.k8s.io/reason", decision.reason)

    def constrain(self, verb: str) -> None:
        self.constraint = verb

    def annotate(self, key: str, value: str) -> None:
        """Add to what the audit log says of the request; the first value of a key stays."""
        self.annotations.setdefault(key, value)


class Gate:
    """Authentication, impersonation and authorization in one step."""

    def __init__(
        self, authenticate: Authenticate, authorizer: Authorizer, insecure_kubectl: User | None = None
    ) -> None:
        """`insecure_kubectl`: who a kubectl without credentials is. Over plain HTTP it never sends those it has."""
        self._authenticate = authenticate
        self._authorizer = authorizer
        self._insecure_kubectl = insecure_kubectl
        self.metrics = GateMetrics()

    def admit(
        self,
        method: str,
        path: str,
        query: Query,
        headers: RawHeaders,
        certified: User | None = None,
        passage: Passage | None = None,
    ) -> User:
        """The user to carry the request out as. Raises Unauthorized, Forbidden, or BadRequest from impersonation.

        `path` has its percent-escapes; header names are lower case; `certified` is whose client certificate the
        connection has; `passage` is told what becomes of the request (None: nobody asks, which most do not).
        """
        authorization = user_agent = b""
        impersonating = False
        for name, value in headers:
            if name == b"authorization":
                authorization = value
            elif name == b"user-agent":
                user_agent = value
            elif name.startswith(b"impersonate-"):
                impersonating = True
        try:
            user = self._who(authorization, user_agent, certified)
        except Unauthorized:
            self.metrics.failed += 1
            if passage is not None:
                passage.access = access_of(_NOBODY, method, path, query)
            raise
        self.metrics.known(user.name)
        access = access_of(user, method, path, query)
        if passage is not None:
            passage.known(user, access)
        if impersonating:
            texts = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
            passage = Passage() if passage is None else passage
            user = passage.impersonated = impersonate(user, texts, access, self._authorizer, passage.constrain)
            access = replace(access, user=user)
        decision = self._authorizer.authorize(access)
        if passage is not None:
            passage.decided(decision)
        if not decision.allowed:
            self.metrics.not_allowed += 1
            raise forbidden(access, decision.reason)
        self.metrics.allowed += 1
        return user

    def _who(self, authorization: bytes, user_agent: bytes, certified: User | None) -> User:
        if not authorization and self._insecure_kubectl is not None and user_agent.startswith(b"kubectl/"):
            return self._insecure_kubectl
        return self._authenticate(authorization.decode("latin-1"), certified)


def is_long_running(access: Access | None) -> bool:
    """Whether the response goes on for as long as the client likes."""
    return access is not None and (access.verb in _LONG_VERBS or access.subresource in LONG_SUBRESOURCES)


def access_of(user: User, method: str, path: str, query: Query) -> Access:
    """What a request asks for: a verb on a resource, or on a path where it is about none."""
    if query or len(path) > _LONG_PATH:
        return Access(user, *_asked(method, path, query))
    return Access(user, *_asked_plainly(method, path))


# Most paths are asked for again: those of collections, and of leases that are renewed. Full: the least recent go.
@lru_cache(4096)
def _asked_plainly(method: str, path: str) -> tuple[str, ...]:
    return _asked(method, path, {})


def _asked(method: str, path: str, query: Query) -> tuple[str, ...]:
    """The fields of an Access behind the user."""
    segments = [segment for segment in path.split("/") if segment]
    if not _is_about_resource(segments):
        return method.lower(), "", "", "", "", "", "", path
    group = "" if segments[0] == "api" else segments[1]
    version, *rest = segments[2 if group else 1 :]
    verb = _VERBS.get(method, "")
    if is_verb_in_path := rest[0] in ("watch", "proxy") and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    namespace = rest[1] if rest[0] == "namespaces" and len(rest) > 1 else ""
    if namespace and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        rest = rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    if not name and verb == "get":
        verb, name = _list_verb(query), _selected_name(query)
    if not name and verb == "delete":
        verb = "deletecollection"
    selector = _field_selector(query) if verb in _SELECTING_VERBS and not is_verb_in_path else ""
    return verb, group, version, resource, subresource, namespace, name, "", selector


def _is_about_resource(segments: Sequence[str]) -> bool:
    """`/api/v1/pods`, `/apis/apps/v1/deployments`: what is shorter is discovery."""
    if not segments or segments[0] not in ("api", "apis"):
        return False
    return len(segments) >= (3 if segments[0] == "api" else 4)


def _list_verb(query: Query) -> str:
    """`watch=<anything>` is a watch."""
    asked = query.get("watch")
    return "watch" if asked and asked[0].lower() not in ("false", "0") else "list"


def _field_selector(query: Query) -> str:
    return (query.get("fieldSelector") or ("",))[0]


def _selected_name(query: Query) -> str:
    """A list of one object by field selector counts as access to that object."""
    selector = _field_selector(query)
    if "metadata.name" not in selector:
        return ""
    try:
        name = parse(selector).exact_value("metadata.name") or ""
    except SelectorError:
        return ""
    return "" if path_segment_errors(name) else name
