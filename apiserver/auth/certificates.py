"""Client certificates: the (last) common name is the user, the organizations are the groups (--client-ca-file).

The TLS layer has verified the certificate by then, and that it is meant for clients. `apiserver/connections.py` calls
`user_of` once a connection; the application finds its answer in the request's scope.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from apiserver.auth.authentication import ALL_AUTHENTICATED, User

# Where the owner of a connection's certificate stands in the ASGI scope of its requests.
CERTIFIED = "kubeloop.certified_user"

_CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_USER_UID = "1.3.6.1.4.1.57683.2"  # the part of a subject that Kubernetes reads a uid from

# A subject as the ssl module gives it: groups of (name of the part, text).
Subject = Iterable[Iterable[tuple[str, str]]]


def user_of(certificate: Mapping[str, Any] | None, encoded: bytes | None) -> User | None:
    """The owner of a verified certificate, as `ssl.SSLSocket.getpeercert` gives it parsed and as DER.

    None without one, or where it names nobody: the request then goes by its token, or is anonymous.
    """
    if not certificate or encoded is None:
        return None
    subject = certificate.get("subject", ())
    names = list(_parts(subject, "commonName"))
    if not names or not names[-1]:
        return None
    groups = (*_parts(subject, "organizationName"), ALL_AUTHENTICATED)
    extra = {_CREDENTIAL_ID: [f"X509SHA256={hashlib.sha256(encoded).hexdigest()}"]}
    return User(names[-1], next(_parts(subject, _USER_UID), ""), groups, extra)


def _parts(subject: Subject, wanted: str) -> Iterator[str]:
    return (text for group in subject for name, text in group if name == wanted)
