"""Who is asking: the owner of a client certificate, of a bearer token, or nobody in particular.

The gate calls `Authenticator.authenticate` before anything else. Token sources are the token file here and the service
accounts of `tokens/`; certificates are read in `certificates.py`. What the user may do is authorization's business;
impersonation (Impersonate-User and friends) is in `impersonation.py`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kubeloop.apimachinery.errors import Unauthorized

ALL_AUTHENTICATED = "system:authenticated"
ALL_UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = "system:anonymous"
MASTERS = "system:masters"

# The audiences of this server: what tokens are issued for unless they name others.
API_AUDIENCES = ("https://kubernetes.default.svc",)

NODE_PREFIX = "system:node:"
NODES_GROUP = "system:nodes"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
ALL_SERVICE_ACCOUNTS = "system:serviceaccounts"


@dataclass(frozen=True, slots=True)
class User:
    """The one who asks. `groups` are in the order of Kubernetes: own groups, then those that come with being known."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def is_in(self, group: str) -> bool:
        return group in self.groups


ANONYMOUS_USER = User(ANONYMOUS, groups=(ALL_UNAUTHENTICATED,))


def service_account_user(namespace: str, name: str, uid: str = "") -> User:
    """The user a service account is."""
    groups = (ALL_SERVICE_ACCOUNTS, f"{ALL_SERVICE_ACCOUNTS}:{namespace}", ALL_AUTHENTICATED)
    return User(f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}", uid, groups)


def node_of(user: User) -> str | None:
    """The name of the node that a user is, perhaps ""; None where it is none."""
    is_node = user.name.startswith(NODE_PREFIX) and NODES_GROUP in user.groups
    return user.name.removeprefix(NODE_PREFIX) if is_node else None


@dataclass(frozen=True, slots=True)
class Identity:
    """A user, and those of the audiences asked for that the token is good for."""

    user: User
    audiences: tuple[str, ...]


class TokenRefused(Exception):
    """A token is of the kind a source knows, and not good; the text says why, for TokenReviews and logs."""


class TokenSource(Protocol):
    """Knows the users of some tokens: a token file, signed service account tokens."""

    def identify(self, token: str, audiences: Sequence[str]) -> Identity | None:
        """Who a token stands for, with system:authenticated among the groups.

        None where the token is not one of this source's, or good for none of the audiences; a source that can say more
        about a bad one raises TokenRefused.
        """
        ...


class TokenFile:
    """The users of a static token file (--token-auth-file)."""

    def __init__(self, users: Mapping[str, User], audiences: Sequence[str] = API_AUDIENCES) -> None:
        self._users = users
        self._audiences = tuple(audiences)  # tokens say nothing of audiences: they are meant for this server

    @classmethod
    def parse(cls, text: str, audiences: Sequence[str] = API_AUDIENCES) -> TokenFile:
        """Lines of `token,user,uid,"group1,group2"`; a line with fewer than three columns is a ValueError.

        A later line overrides an earlier one with the same token; lines with an empty token are passed over.
        """
        users = {}
        for number, row in enumerate(csv.reader(text.splitlines(), skipinitialspace=True), start=1):
            if not row:
                continue
            if len(row) < 3:
                raise ValueError(
                    f"token file line {number}: found {len(row)} columns, "
                    "need at least three: token, user name and user uid"
                )
            if not row[0]:
                continue
            own = tuple(row[3].split(",")) if len(row) > 3 and row[3] else ()
            users[row[0]] = User(row[1], row[2], (*own, ALL_AUTHENTICATED))
        return cls(users, audiences)

    def identify(self, token: str, audiences: Sequence[str]) -> Identity | None:
        user = self._users.get(token)
        shared = tuple(audience for audience in self._audiences if audience in audiences)
        return Identity(user, shared) if user is not None and shared else None


class Authenticator:
    """Asks the token sources in turn; without a token the request is anonymous."""

    def __init__(
        self,
        sources: Iterable[TokenSource] = (),
        allow_anonymous: bool = True,
        audiences: Sequence[str] = API_AUDIENCES,
    ) -> None:
        self._sources = tuple(sources)
        self._allow_anonymous = allow_anonymous
        self.audiences = tuple(audiences)  # what a token must be good for to be accepted here

    def authenticate(self, authorization: str = "", certified: User | None = None) -> User:
        """The user of the connection's client certificate, or else of the Authorization header.

        Unauthorized where the token is nobody's. Schemes other than Bearer carry no token, so such a request is
        anonymous, as in the real server.
        """
        if certified is not None:
            return certified
        token = _bearer_token(authorization)
        if token:
            try:
                return self.identify(token, self.audiences).user
            except TokenRefused as refused:
                raise Unauthorized("Unauthorized") from refused
        if not self._allow_anonymous:
            raise Unauthorized("Unauthorized")
        return ANONYMOUS_USER

    def identify(self, token: str, audiences: Sequence[str]) -> Identity:
        """Who a token stands for (TokenReview asks for other audiences than this server's own).

        Raises TokenRefused, in the real server's words, where no source knows a user for it.
        """
        reasons = []
        for source in self._sources:
            try:
                identity = source.identify(token, audiences)
            except TokenRefused as refused:
                reasons.append(str(refused))
            else:
                if identity is not None:
                    return identity
        raise TokenRefused(f"[invalid bearer token, {', '.join(reasons) or 'token lookup failed'}]")


def _bearer_token(authorization: str) -> str:
    scheme, _, token = authorization.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
