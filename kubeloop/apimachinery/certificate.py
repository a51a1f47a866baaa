"""Certificates (X.509), as far as control loops read them."""

from __future__ import annotations

from datetime import datetime

from kubeloop.apimachinery import der, pem

# Only the version is tagged so; a certificate of version 1 leaves it out.
_VERSION = 0xA0


def end_of(text: bytes) -> datetime | None:
    """Until when the certificate in the first PEM block is good; None where it is none."""
    block = next(pem.blocks(text), None)
    if block is None:
        return None
    try:
        fields = der.parse(block.data).expect(der.SEQUENCE).children()[0].expect(der.SEQUENCE).children()
        if fields and fields[0].tag == _VERSION:
            fields = fields[1:]
        # serial number, algorithm, issuer, and then the two ends of its life
        return der.moment(fields[3].expect(der.SEQUENCE).children()[1])
    except (der.DerError, IndexError):
        return None
