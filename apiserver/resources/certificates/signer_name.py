"""Names of signers: `example.com/my-signer`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apiserver.resources.checks import Errors
from kubeloop.apimachinery import field, validation

LONGEST_PATH = validation.MAX_SUBDOMAIN_LENGTH + validation.MAX_LABEL_LENGTH + 1
LONGEST = validation.MAX_SUBDOMAIN_LENGTH + LONGEST_PATH + 1


def check_signer_name(name: str, path: str, errors: Errors) -> None:
    if not name:
        errors.append(field.required(path))
        return
    if name.count("/") != 1:
        reason = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        errors.append(field.invalid(path, name, reason))
        return
    domain, _, rest = name.partition("/")
    if len(domain.encode()) > validation.MAX_SUBDOMAIN_LENGTH:
        errors.append(field.too_long(path, validation.MAX_SUBDOMAIN_LENGTH))
    _check_first_bad_label(domain, validation.dns_label_errors, path, errors)
    if "." not in domain:
        reason = "should be a domain with at least two segments separated by dots"
        errors.append(field.invalid(path, domain, reason))
    _check_first_bad_label(rest, validation.dns_subdomain_errors, path, errors)
    if len(name.encode()) > LONGEST:
        errors.append(field.too_long(path, LONGEST))


def _check_first_bad_label(text: str, reasons_of: Callable[[str], Sequence[str]], path: str, errors: Errors) -> None:
    for label in text.split("."):
        if reasons := reasons_of(label):
            quoted = field.go_quote(label)
            errors.extend(field.invalid(path, text, f"validating label {quoted}: {reason}") for reason in reasons)
            return
