"""What has been decided about a CertificateSigningRequest, and what it asks for."""

from __future__ import annotations

import base64

from kubeloop.apimachinery.certificate_request import CertificateRequest, RequestError, parse_request
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of
from kubeloop.runtime.result import TerminalError

APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"


def is_decided(request: ReadOnlyObject) -> bool:
    return any(get_condition(conditions_of(request), kind) for kind in (APPROVED, DENIED))


def is_to_be_signed(request: ReadOnlyObject) -> bool:
    """Approved, not denied, not failed, and without a certificate yet."""
    conditions = conditions_of(request)
    failed = get_condition(conditions, FAILED)
    return (
        get_condition(conditions, APPROVED) is not None
        and get_condition(conditions, DENIED) is None
        and not (failed is not None and failed.get("status", "True") in ("", "True"))
        and not is_issued(request)
    )


def is_issued(request: ReadOnlyObject) -> bool:
    return bool((request.get("status") or {}).get("certificate"))


def asked_for(request: ReadOnlyObject) -> CertificateRequest:
    """The certificate that is asked for. TerminalError where it cannot be read: what it says never changes."""
    try:
        return parse_request(encoded(request))
    except RequestError as error:
        raise TerminalError(f"unable to parse csr {name_of(request)}: {error}") from error


def encoded(request: ReadOnlyObject) -> bytes:
    """The request for a certificate as PEM."""
    return base64.b64decode(request["spec"].get("request") or "")
