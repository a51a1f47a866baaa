"""A new certificate, and the Secret that it goes into. Pure: time, chance and key are given."""

from __future__ import annotations

import random
from datetime import datetime

from cryptography import x509
from cryptography.x509.oid import NameOID

from examples.operators.certificate.api import (
    CA_ENTRY,
    CERTIFICATE_ENTRY,
    CERTIFICATES,
    KEY_ENTRY,
    OPERATOR,
    REVISION_ANNOTATION,
    TLS_TYPE,
    UID_ANNOTATION,
)
from examples.operators.certificate.authority import Authority, pem_of
from examples.operators.certificate.keys import PrivateKey, key_pem, signature_hash
from examples.operators.certificate.model import Wanted
from examples.operators.certificate.secret_data import encoded
from examples.operators.certificate.usages import extended_key_usage, key_usage
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.resource import SECRETS
from kubeloop.runtime.ownership import set_controller_reference

_SERIAL_BITS = 159  # positive, in 20 octets: RFC 5280 allows no more


def sign(
    wanted: Wanted, key: PrivateKey, authority: Authority | None, now: datetime, rng: random.Random
) -> x509.Certificate:
    """Signed by `authority`, or by its own key. It is good from this second on, and never longer than its CA is."""
    starts_at = now.replace(microsecond=0)
    ends_at = starts_at + wanted.duration
    subject = _name(wanted.common_name)
    issuer, signer = (authority.certificate.subject, authority.key) if authority else (subject, key)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(rng.getrandbits(_SERIAL_BITS) or 1)
        .not_valid_before(starts_at)
        .not_valid_after(min(ends_at, authority.ends_at) if authority else ends_at)
    )
    for extension, is_critical in _extensions(wanted, key, signer):
        builder = builder.add_extension(extension, is_critical)
    return builder.sign(signer, signature_hash(signer))


def secret_with(
    certificate: x509.Certificate,
    key: PrivateKey,
    authority: Authority | None,
    revision: int,
    owner: ReadOnlyObject,
    current: ReadOnlyObject | None,
) -> Object:
    """The Secret as it is to be; what others have added to the `current` one stays."""
    wanted, own = Wanted.of(owner), pem_of(certificate)
    metadata = (current or {}).get("metadata") or {"name": wanted.secret_name, "namespace": wanted.key.namespace}
    labels = {**(metadata.get("labels") or {}), "app.kubernetes.io/managed-by": OPERATOR}
    annotations = {
        **(metadata.get("annotations") or {}),
        UID_ANNOTATION: wanted.uid,
        REVISION_ANNOTATION: str(revision),
    }
    secret: Object = {
        **(current or {"apiVersion": SECRETS.api_version, "kind": SECRETS.kind, "type": TLS_TYPE}),
        "metadata": {**metadata, "labels": labels, "annotations": annotations},
        "data": {
            **((current or {}).get("data") or {}),
            CERTIFICATE_ENTRY: encoded(own + (authority.chain if authority else b"")),
            KEY_ENTRY: encoded(key_pem(key)),
            CA_ENTRY: encoded(authority.root if authority else own),
        },
    }
    set_controller_reference(secret, owner, CERTIFICATES)
    return secret


def _extensions(wanted: Wanted, key: PrivateKey, signer: PrivateKey) -> list[tuple[x509.ExtensionType, bool]]:
    """Each with whether it is critical; those that would say nothing are left out."""
    names: list[x509.GeneralName] = [
        *map(x509.DNSName, sorted(wanted.dns_names)),
        *(x509.IPAddress(address) for address in sorted(wanted.ip_addresses, key=str)),
    ]
    found: list[tuple[x509.ExtensionType | None, bool]] = [
        (x509.BasicConstraints(ca=wanted.is_ca, path_length=None), True),
        (key_usage(wanted.usages), True),
        (extended_key_usage(wanted.usages), False),
        (x509.SubjectAlternativeName(names) if names else None, not wanted.common_name),
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False),
    ]
    return [(extension, is_critical) for extension, is_critical in found if extension is not None]


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)] if common_name else [])
