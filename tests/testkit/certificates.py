"""Certificates for tests of the example operator: keys by seed, and what a client would check."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from examples.operators.certificate.api import CERTIFICATES, TLS_TYPE
from examples.operators.certificate.authority import Authority
from examples.operators.certificate.issuing import sign
from examples.operators.certificate.keys import KeyKind, KeyMaker, PrivateKey, key_pem, new_key
from examples.operators.certificate.model import Wanted
from examples.operators.certificate.secret_data import encoded, entry
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.testing.builders import Builder

_PEM = serialization.Encoding.PEM
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of the curve P-256


def keys_by(rng: random.Random) -> KeyMaker:
    """The same keys for the same seed, where they are of the usual kind."""

    def make(kind: KeyKind) -> PrivateKey:
        if kind == KeyKind("ECDSA", 256):
            return ec.derive_private_key(rng.randrange(1, _ORDER), ec.SECP256R1())
        return new_key(kind)

    return make


def a_certificate(name: str = "web", **spec: Any) -> Builder:
    """For shop.example.com into web-tls, signed by the CA in the Secret `ca`. None takes a field away."""
    usual = {"secretName": f"{name}-tls", "caSecretName": "ca", "dnsNames": ["shop.example.com"]}
    wanted = {field: value for field, value in {**usual, **spec}.items() if value is not None}
    return Builder(
        apiVersion=CERTIFICATES.api_version,
        kind=CERTIFICATES.kind,
        metadata={"name": name, "namespace": "default", "uid": name},
        spec=wanted,
    )


def defaulted(certificate: Builder) -> Builder:
    """As the schema would fill it in."""
    usages = ["digital signature", "key encipherment", "server auth"]
    usual = {"duration": "2160h", "isCA": False, "usages": usages}
    key = {"algorithm": "ECDSA", "rotationPolicy": "Always", **certificate["spec"].get("privateKey", {})}
    return Builder(certificate, spec={**usual, **certificate["spec"], "privateKey": key})


def an_authority(now: datetime, seed: int = 1, days: int = 3650, name: str = "test CA") -> Authority:
    rng = random.Random(f"authority {seed}")
    spec = {"caSecretName": None, "dnsNames": None, "commonName": name, "isCA": True, "duration": f"{days * 24}h"}
    key = keys_by(rng)(KeyKind("ECDSA", 256))
    certificate = sign(Wanted.of(defaulted(a_certificate(**spec))), key, None, now, rng)
    return Authority(certificate, key, b"", certificate.public_bytes(_PEM))


def a_ca_secret(authority: Authority, name: str = "ca") -> Builder:
    data = {"tls.crt": encoded(authority.root), "tls.key": encoded(key_pem(authority.key))}
    metadata = {"name": name, "namespace": "default"}
    return Builder(apiVersion="v1", kind="Secret", metadata=metadata, type=TLS_TYPE, data=data)


def held(secret: ReadOnlyObject) -> x509.Certificate:
    return x509.load_pem_x509_certificate(entry(secret, "tls.crt"))


def is_trusted(secret: ReadOnlyObject, host: str, now: datetime) -> bool:
    """Whether a client that trusts ca.crt would speak to a server `host` that shows tls.crt."""
    try:
        shown = x509.load_pem_x509_certificates(entry(secret, "tls.crt"))
        store = Store(x509.load_pem_x509_certificates(entry(secret, "ca.crt")))
        policy = PolicyBuilder().store(store).time(now)
        policy.build_server_verifier(x509.DNSName(host)).verify(shown[0], shown[1:])
    except (ValueError, VerificationError):
        return False
    return True


def damaged(secret: Object, **entries: bytes) -> Object:
    """A copy with other bytes in it: tls_key=b"..."."""
    changed = {name.replace("_", "."): encoded(content) for name, content in entries.items()}
    return {**secret, "data": {**secret["data"], **changed}}
