"""TLS to others, trusted as Go's client trusts them."""

from __future__ import annotations

import base64
import binascii
import ssl

from apiserver.outgoing.errors import UnusableTrust
from apiserver.outgoing.trust import Trust


def tls_context(trust: Trust) -> ssl.SSLContext:
    """Trusts the certificates of the bundle, or those of the system where there is none, as Go's client does.

    Python asks more of certificates than Go (extensions that a CA of a test seldom has), and takes the common name for
    a host's name, which Go does not.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if trust.is_plain:
        return context  # nobody shakes hands
    context.hostname_checks_common_name = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if trust.client_certificate:
        context.load_cert_chain(*trust.client_certificate)
    if trust.is_blind:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context
    if not trust.ca_bundle:
        context.load_default_certs()
        return context
    try:
        pem = base64.b64decode(trust.ca_bundle).decode("ascii")
        context.load_verify_locations(cadata=pem)
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError) as error:
        raise UnusableTrust("unable to load root certificates: unable to parse bytes as PEM block") from error
    return context
