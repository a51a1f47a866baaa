"""Who is asking: bearer tokens from a token file, or nobody in particular.

Handlers call `Authenticator.authenticate` with the Authorization header before anything else. What the user may do is
authorization's business; impersonation (Impersonate-User and friends) is in `impersonation.py`.
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


class TokenSource(Protocol):
    """Knows the users of some tokens: a token file, signed service account tokens."""

    def user_of(self, token: str) -> User | None:
        """The user, with system:authenticated among the groups; None where the token is not one of this source's."""
        ...


class TokenFile:
    """The users of a static token file (--token-auth-file)."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = users

    @classmethod
    def parse(cls, text: str) -> TokenFile:
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
        return cls(users)

    def user_of(self, token: str) -> User | None:
        return self._users.get(token)


class Authenticator:
    """Asks the token sources in turn; without a token the request is anonymous."""

    def __init__(self, sources: Iterable[TokenSource] = (), allow_anonymous: bool = True) -> None:
        self._sources = tuple(sources)
        self._allow_anonymous = allow_anonymous

    def authenticate(self, authorization: str = "") -> User:
        """The user of an Authorization header; Unauthorized where its token is nobody's.

        Schemes other than Bearer carry no token, so such a request is anonymous, as in the real server.
        """
        token = _bearer_token(authorization)
        if token:
            user = self.user_of(token)
            if user is None:
                raise Unauthorized("Unauthorized")
            return user
        if not self._allow_anonymous:
            raise Unauthorized("Unauthorized")
        return ANONYMOUS_USER

    def user_of(self, token: str) -> User | None:
        """The user of a token, for TokenReview too."""
        return next((user for source in self._sources if (user := source.user_of(token)) is not None), None)


def _bearer_token(authorization: str) -> str:
    scheme, _, token = authorization.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
