"""Requests for certificates: two made with openssl for throw-away keys, and others as a test wants them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kubeloop.apimachinery.meta import Object

NODE_USAGES = ("digital signature", "client auth")

# O=devs, CN=alice, signed with an RSA key.
OF_ALICE = """-----BEGIN CERTIFICATE REQUEST-----
MIIBXjCByAIBADAfMQ0wCwYDVQQKDARkZXZzMQ4wDAYDVQQDDAVhbGljZTCBnzAN
BgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEA6iNb2KnbFuHaMo7utsIpq3b+6WFp46WJ
MYkcN31VICr8GV1yiLdf9EJInKzAMFVjHEMYglSajwZsYzFqVqu8l/KSmWaHbnKS
ZHph4u5JJmAJW7uDrM6NrH7MxFhVLKdb+0O+l84JhIWSGcv6KXDal34wLsJHsT2h
sz3TLgGEo7kCAwEAAaAAMA0GCSqGSIb3DQEBCwUAA4GBAAzs+XolsRgf173tNThr
uwVZsD/AG4/9wLJelvWbkQ89hUH+zuUdLV24TbCwY3FzKOU7NEY4jXPvBMV8c3ds
wECuK80go2yxkY48Tr63yxJMY/HF3bBKBmrPE7ZKOKE0QL8YAFF3d68Rq+oVcUdG
OC12qAmEJqDxfcD4kpB6fCwu
-----END CERTIFICATE REQUEST-----
"""
# O=system:masters, CN=bob, signed with a P-256 key.
OF_A_MASTER = """-----BEGIN CERTIFICATE REQUEST-----
MIHjMIGJAgEAMCcxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMQwwCgYDVQQDDANi
b2IwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQ4gmns8HLWkKfYZiZX+sa3t2wp
JLny/jlLufNnA3us+0ex/yHwBsSxhgZB7G4Pqriigubs/gPp2AyubzAC/86UoAAw
CgYIKoZIzj0EAwIDSQAwRgIhAPRLjEezeDGjeuH9hIHhuWUC3l6obiaAOAVIx41P
CTGnAiEA97oeZ64qeA2ih33TX0Rl19NVCBdSbzjqgwNnEGP62xk=
-----END CERTIFICATE REQUEST-----
"""


@cache
def a_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_text() -> str:
    """The key of all requests that are made here, as PEM."""
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return a_key().private_bytes(encoding, form, serialization.NoEncryption()).decode()


def a_request(common_name: str, *organizations: str, names: Sequence[x509.GeneralName] = ()) -> bytes:
    """PEM; `names` are the alternative names."""
    subject = [*((NameOID.ORGANIZATION_NAME, text) for text in organizations), (NameOID.COMMON_NAME, common_name)]
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(kind, text) for kind, text in subject])
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(a_key(), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def a_signing_request(
    request: bytes,
    signer: str = "kubernetes.io/kube-apiserver-client",
    usages: Sequence[str] = NODE_USAGES,
    name: str = "request",
    **spec: Any,
) -> Object:
    """The object that asks the cluster for it."""
    asked = {"request": base64.b64encode(request).decode(), "signerName": signer, "usages": list(usages), **spec}
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    return {**kind, "metadata": {"name": name}, "spec": asked}
