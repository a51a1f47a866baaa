"""What a TLS Secret holds, and why that is not good enough: plain functions, which remember nothing.

All is read from the Secret itself: a spec that changed, a CA that changed, damage and age all show in it. So it does
not matter what the operator saw happen, or whether it ran at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import NameOID

from examples.operators.certificate.api import CA_ENTRY, CERTIFICATE_ENTRY, KEY_ENTRY, REVISION_ANNOTATION
from examples.operators.certificate.authority import Authority, is_ca, is_signed_by, pem_of
from examples.operators.certificate.keys import KeyKind, PrivateKey, load_key
from examples.operators.certificate.model import Wanted
from examples.operators.certificate.secret_data import entry
from examples.operators.certificate.usages import usages_of
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of
from kubeloop.apimachinery.times import format_time


class Cause(NamedTuple):
    """Why a certificate is to be issued. `is_urgent`: what there is cannot be used."""

    reason: str
    message: str
    is_urgent: bool = True


@dataclass(frozen=True, slots=True)
class Held:
    """A certificate and its key, as a Secret holds them."""

    certificate: x509.Certificate
    key: PrivateKey
    shown: bytes  # tls.crt as a whole
    root: bytes  # ca.crt
    revision: int

    @classmethod
    def by(cls, secret: ReadOnlyObject) -> Held | None:
        """None where it holds none, or one that its key does not belong to."""
        shown = entry(secret, CERTIFICATE_ENTRY)
        try:
            certificate = x509.load_pem_x509_certificate(shown)
            key = load_key(entry(secret, KEY_ENTRY))
            if key.public_key() != certificate.public_key():
                return None
        except (ValueError, UnsupportedAlgorithm):
            return None
        revision = annotations_of(secret).get(REVISION_ANNOTATION, "")
        return cls(certificate, key, shown, entry(secret, CA_ENTRY), int(revision) if revision.isdigit() else 0)

    @property
    def starts_at(self) -> datetime:
        return self.certificate.not_valid_before_utc

    @property
    def ends_at(self) -> datetime:
        return self.certificate.not_valid_after_utc


def cause_to_issue(
    wanted: Wanted, secret: ReadOnlyObject | None, authority: Authority | None, now: datetime
) -> Cause | None:
    """`authority` is None where the certificate signs itself, and where its CA is not to be had: then nobody asks."""
    if secret is None:
        return Cause("Missing", f"Secret {wanted.secret_name} does not exist")
    held = Held.by(secret)
    if held is None:
        return Cause("Damaged", f"Secret {wanted.secret_name} holds no certificate with its key")
    if not _is_signed_as_wanted(wanted, held, authority):
        return Cause("CAChanged", f"Secret {wanted.secret_name} holds a certificate that the CA of now did not sign")
    changed = differences(wanted, held, authority)
    if changed:
        return Cause("SpecChanged", f"the certificate has other {', '.join(changed)} than the spec")
    if now >= held.ends_at:
        return Cause("Expired", f"the certificate was good until {format_time(held.ends_at)}")
    renewal = renewal_time(wanted, held, authority)
    if renewal is not None and now >= renewal:
        return Cause("Renewal", f"the certificate is good until {format_time(held.ends_at)}", is_urgent=False)
    return None


def key_to_keep(wanted: Wanted, secret: ReadOnlyObject | None) -> PrivateKey | None:
    """The key that is there, where the spec wants it kept and it is of the right kind."""
    if secret is None or not wanted.is_key_kept:
        return None
    try:
        key = load_key(entry(secret, KEY_ENTRY))
    except ValueError:
        return None
    return key if KeyKind.of_key(key) == wanted.key_kind else None


def differences(wanted: Wanted, held: Held, authority: Authority | None) -> list[str]:
    """Which fields of the spec the certificate does not fulfil."""
    certificate = held.certificate
    found = {
        "commonName": _common_name(certificate) == wanted.common_name,
        "dnsNames": frozenset(_names(certificate, x509.DNSName)) == wanted.dns_names,
        "ipAddresses": frozenset(_names(certificate, x509.IPAddress)) == wanted.ip_addresses,
        "isCA": is_ca(certificate) == wanted.is_ca,
        "usages": usages_of(certificate) == wanted.usages,
        "privateKey": KeyKind.of_key(held.key) == wanted.key_kind,
        "duration": _has_duration(wanted, held, authority),
    }
    return [field for field, is_fulfilled in found.items() if not is_fulfilled]


def renewal_time(wanted: Wanted, held: Held, authority: Authority | None) -> datetime | None:
    """None where another certificate would not be good for longer, as its CA ends then: it is the CA's turn first."""
    if authority is not None and held.ends_at >= authority.ends_at:
        return None
    life = held.ends_at - held.starts_at
    is_before_given = wanted.renew_before is not None and wanted.renew_before < life
    return held.ends_at - (wanted.renew_before if is_before_given and wanted.renew_before else life / 3)


def _is_signed_as_wanted(wanted: Wanted, held: Held, authority: Authority | None) -> bool:
    own = pem_of(held.certificate)
    if not wanted.ca_secret_name:
        return is_signed_by(held.certificate, held.certificate) and (held.shown, held.root) == (own, own)
    if authority is None:
        return True
    is_whole = held.shown == own + authority.chain and held.root == authority.root
    return is_whole and is_signed_by(held.certificate, authority.certificate)


def _has_duration(wanted: Wanted, held: Held, authority: Authority | None) -> bool:
    """A certificate does not outlive its CA, whatever its spec says."""
    life = held.ends_at - held.starts_at
    is_cut = (
        life < wanted.duration and wanted.ca_secret_name and (authority is None or held.ends_at == authority.ends_at)
    )
    return life == wanted.duration or bool(is_cut)


def _common_name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def _names(certificate: x509.Certificate, kind: type[x509.DNSName] | type[x509.IPAddress]) -> list[object]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return list(names.get_values_for_type(kind))
