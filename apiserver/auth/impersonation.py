"""Acting as somebody else: the Impersonate-* headers, where the one who asks is allowed to.

Handlers call `impersonate` between authentication and authorization. Constrained impersonation comes first, as in
v1.36 (KEP 5284): a right to impersonate for this one request (`impersonate-on:<mode>:<verb>`) together with the right
to be this user (`impersonate:<mode>`); then the old all-or-nothing verb `impersonate`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from apiserver.auth.authentication import (
    ALL_AUTHENTICATED,
    ALL_SERVICE_ACCOUNTS,
    ALL_UNAUTHENTICATED,
    ANONYMOUS,
    MASTERS,
    NODE_PREFIX,
    NODES_GROUP,
    SERVICE_ACCOUNT_PREFIX,
    User,
)
from apiserver.auth.authorization import Access, Authorizer, forbidden
from kubeloop.apimachinery.errors import BadRequest, Forbidden
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.metadata_validation import domain_path_errors
from kubeloop.apimachinery.validation import dns_label_errors, dns_subdomain_errors

NODE_NAME_KEY = "authentication.kubernetes.io/node-name"

_GROUP = "authentication.k8s.io"
_EXTRA_PREFIX = "impersonate-extra-"
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_MANY = 4  # from so many values on, the right to all of them is asked about first


@dataclass(slots=True)
class _Wanted:
    """The user that the headers ask for, as they say it."""

    name: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_name_only(self) -> bool:
        return not (self.uid or self.groups or self.extra)


def impersonate(
    requestor: User,
    headers: Iterable[tuple[str, str]],
    access: Access,
    authorizer: Authorizer,
    constrained: Callable[[str], None] = lambda verb: None,
) -> User:
    """The user to carry out the request as: the requestor, or the one the headers name.

    `headers` have lower-case names; `access` is the request as the requestor's own. Forbidden where he may not,
    BadRequest where the headers name groups or extras without a user. `constrained` is told the right by which he may,
    where it is one of the narrow ones.
    """
    wanted = _wanted(headers)
    if wanted is None:
        return requestor
    first_refusal: Forbidden | None = None
    for mode in _modes(wanted, requestor):
        try:
            user = _Check(mode, authorizer, access).user(wanted)
        except Forbidden as error:
            first_refusal = first_refusal or error
            continue
        if mode:
            constrained(f"impersonate:{mode}")
        return user
    assert first_refusal is not None  # the last mode takes every user
    raise first_refusal


def _wanted(headers: Iterable[tuple[str, str]]) -> _Wanted | None:
    wanted = _Wanted()
    for name, value in headers:
        if name == "impersonate-user":
            wanted.name = wanted.name or value
        elif name == "impersonate-uid":
            wanted.uid = wanted.uid or value
        elif name == "impersonate-group":
            wanted.groups.append(value)
        elif name.startswith(_EXTRA_PREFIX):
            wanted.extra.setdefault(_extra_key(name[len(_EXTRA_PREFIX) :]), []).append(value)
    if wanted.name:
        return wanted
    if wanted.is_name_only:
        return None
    raise BadRequest(f"requested {_go_struct(wanted)} without impersonating a user name")


def _extra_key(encoded: str) -> str:
    """Percent-escapes read; with one that is none, the text as it is."""
    return encoded if _BAD_ESCAPE.search(encoded) else unquote(encoded)


def _modes(wanted: _Wanted, requestor: User) -> Iterator[str]:
    """The ways to impersonate this user, narrowest first; "" is the old one."""
    is_node = _is_node(wanted.name)
    is_account = _service_account(wanted.name) is not None
    if is_node and wanted.is_name_only:
        if _service_account(requestor.name) is not None and _node_of(requestor) == _node_name(wanted.name):
            yield "associated-node"
        yield "arbitrary-node"
    if is_account and wanted.is_name_only:
        yield "serviceaccount"
    if not is_node and not is_account:
        yield "user-info"
    yield ""


@dataclass(frozen=True, slots=True)
class _Check:
    """The questions that one mode asks about a wanted user. `access` is the request under way."""

    mode: str
    authorizer: Authorizer
    access: Access

    def user(self, wanted: _Wanted) -> User:
        """The wanted user, with the groups that come with being it."""
        if self.mode:
            verb = f"impersonate-on:{self.mode}:{self.access.verb}"
            self._require(replace(self.access, verb=verb))
        groups = self._require_name(wanted)
        if wanted.uid:
            self._require(self._about("uids", wanted.uid, _GROUP))
        self._require_groups(wanted.groups)
        self._require_extra(wanted.extra)
        return User(wanted.name, wanted.uid, _complete(wanted.name, groups), wanted.extra)

    def _require_name(self, wanted: _Wanted) -> list[str]:
        """Asks about the name; answers the groups: those wanted, or those that nodes and accounts always have."""
        account = _service_account(wanted.name)
        if self.mode and _is_node(wanted.name):
            node = "*" if self.mode == "associated-node" else _node_name(wanted.name)
            self._require(self._about("nodes", node))
            return [NODES_GROUP]
        if account is not None:
            namespace, name = account
            self._require(replace(self._about("serviceaccounts", name), namespace=namespace))
            return wanted.groups or [ALL_SERVICE_ACCOUNTS, f"{ALL_SERVICE_ACCOUNTS}:{namespace}"]
        self._require(self._about("users", wanted.name))
        return wanted.groups

    def _require_groups(self, groups: Sequence[str]) -> None:
        about = self._about("groups", "")
        if self.mode and "" in groups:
            raise forbidden(about, "impersonating the empty string group is not allowed")
        if self.mode and MASTERS in groups:
            raise forbidden(replace(about, name=MASTERS), "impersonating the system:masters group is not allowed")
        if self._may_all(replace(about, name="*"), len(groups)):
            return
        for group in groups:
            self._require(replace(about, name=group))

    def _require_extra(self, extra: dict[str, list[str]]) -> None:
        about = self._about("userextras", "", _GROUP)
        if self.mode and (refusal := next(filter(None, map(_extra_error, extra.items())), "")):
            raise forbidden(about, refusal)
        if self._may_all(replace(about, subresource="*", name="*"), sum(map(len, extra.values()))):
            return
        for key, values in extra.items():
            for value in values:
                self._require(replace(about, subresource=key, name=value))

    def _may_all(self, about: Access, count: int) -> bool:
        return bool(self.mode) and count >= _MANY and self.authorizer.authorize(about).allowed

    def _about(self, resource: str, name: str, group: str = "") -> Access:
        verb = f"impersonate:{self.mode}" if self.mode else "impersonate"
        group = _GROUP if self.mode else group
        return Access(self.access.user, verb, group, "v1", resource, name=name)

    def _require(self, access: Access) -> None:
        decision = self.authorizer.authorize(access)
        if not decision.allowed:
            raise forbidden(access, decision.reason)


def _extra_error(entry: tuple[str, list[str]]) -> str:
    """What keeps an extra from being impersonated in the narrow modes."""
    key, values = entry
    doing = "in extra is not allowed"
    if not key:
        return f"impersonating the empty string key {doing}"
    if errors := domain_path_errors(key, "extra.key"):
        text = str(errors[0]) if len(errors) == 1 else f"[{', '.join(map(str, errors))}]"
        return f"impersonating an invalid key {doing}: {text}"
    if key != key.lower():
        return f"impersonating a non-lowercase key {doing}: {go_quote(key)}"
    return f"impersonating the empty string value {doing}" if "" in values else ""


def _complete(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    """Everybody is known or unknown; whoever says unknown stays so."""
    if name == ANONYMOUS:
        implied = ALL_UNAUTHENTICATED
    elif ALL_UNAUTHENTICATED in groups:
        return tuple(groups)
    else:
        implied = ALL_AUTHENTICATED
    return tuple(groups) if implied in groups else (*groups, implied)


def _service_account(user_name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account a user name stands for."""
    namespace, colon, name = user_name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    if not user_name.startswith(SERVICE_ACCOUNT_PREFIX) or not colon or ":" in name:
        return None
    return None if dns_label_errors(namespace) or dns_subdomain_errors(name) else (namespace, name)


def _is_node(user_name: str) -> bool:
    return user_name.startswith(NODE_PREFIX) and not dns_subdomain_errors(_node_name(user_name))


def _node_name(user_name: str) -> str:
    return user_name.removeprefix(NODE_PREFIX)


def _node_of(user: User) -> str:
    """The node that a service account's token is bound to, if it is."""
    values = user.extra.get(NODE_NAME_KEY) or ()
    return values[0] if len(values) == 1 else ""


def _go_struct(wanted: _Wanted) -> str:
    """The wanted user as Go prints a struct, which is what the real server answers with."""
    groups = _go_strings(wanted.groups) if wanted.groups else "[]string(nil)"
    extra = "map[string][]string(nil)"
    if wanted.extra:
        pairs = (f'"{key}":{_go_strings(values)}' for key, values in sorted(wanted.extra.items()))
        extra = f"map[string][]string{{{', '.join(pairs)}}}"
    return f'&user.DefaultInfo{{Name:"", UID:"{wanted.uid}", Groups:{groups}, Extra:{extra}}}'


def _go_strings(values: Sequence[str]) -> str:
    quoted = (f'"{value}"' for value in values)
    return f"[]string{{{', '.join(quoted)}}}"
