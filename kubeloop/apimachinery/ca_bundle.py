"""Whether a CA bundle holds certificates, in the words of client-go's transport."""

from __future__ import annotations

import base64
import binascii

from kubeloop.apimachinery import der, pem

_INTRO = "unable to load root certificates"


def ca_bundle_error(bundle: str) -> str:
    """Why `bundle` (base64 of PEM) trusts nobody; "" where it holds a certificate, or nothing at all."""
    try:
        text = base64.b64decode(bundle)
    except (ValueError, binascii.Error):
        text = b"\0"
    if not text:
        return ""
    blocks = list(pem.blocks(text))
    certificates = [block for block in blocks if block.kind == "CERTIFICATE" and not block.has_headers]
    if any(_is_sequence(block.data) for block in certificates):
        return ""
    if certificates:
        return f"{_INTRO}: failed to parse certificate: x509: malformed certificate"
    reason = "no valid certificate authority data seen" if blocks else "unable to parse bytes as PEM block"
    return f"{_INTRO}: {reason}"


def _is_sequence(data: bytes) -> bool:
    try:
        der.parse(data).expect(der.SEQUENCE)
    except der.DerError:
        return False
    return True
