"""What a certificate may be used for: the words of the spec, and the two extensions that say it."""

from __future__ import annotations

from collections.abc import Iterable

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

# Word -> name of the argument of x509.KeyUsage.
_KEY_USAGES = {
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "data encipherment": "data_encipherment",
    "key agreement": "key_agreement",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
}
_EXTENDED_USAGES = {
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
}


def key_usage(usages: Iterable[str]) -> x509.KeyUsage | None:
    """None where there is nothing to say."""
    wanted = set(usages)
    bits = {argument: word in wanted for word, argument in _KEY_USAGES.items()}
    return x509.KeyUsage(**bits, encipher_only=False, decipher_only=False) if any(bits.values()) else None


def extended_key_usage(usages: Iterable[str]) -> x509.ExtendedKeyUsage | None:
    wanted = set(usages)
    found = [oid for word, oid in _EXTENDED_USAGES.items() if word in wanted]
    return x509.ExtendedKeyUsage(found) if found else None


def usages_of(certificate: x509.Certificate) -> frozenset[str]:
    """The words that a certificate fulfils; what there is no word for is left out."""
    extensions = certificate.extensions
    found: set[str] = set()
    try:
        bits = extensions.get_extension_for_class(x509.KeyUsage).value
        found |= {word for word, argument in _KEY_USAGES.items() if getattr(bits, argument)}
    except x509.ExtensionNotFound:
        pass
    try:
        oids = set(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
        found |= {word for word, oid in _EXTENDED_USAGES.items() if oid in oids}
    except x509.ExtensionNotFound:
        pass
    return frozenset(found)
