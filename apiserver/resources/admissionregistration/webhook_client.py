"""How the server reaches a webhook: by an address or through a Service. Also used by conversion webhooks of CRDs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import Errors, check_required
from apiserver.resources.filling import fill
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.go_url import UrlError, parse_url
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

DEFAULT_PORT = 443
_FORM = "; desired format: https://host[/path]"


def default_client(client: Object) -> None:
    if (service := client.get("service")) is not None:
        fill(service, {"port": DEFAULT_PORT})


def check_client(client: Json, path: str, errors: Errors) -> None:
    """Exactly one way to reach it, and a good one."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        errors.append(field.required(path, "exactly one of url or service is required"))
    elif url is not None:
        _check_url(url, f"{path}.url", errors)
    else:
        _check_service(service or {}, f"{path}.service", errors)


def _check_url(text: str, path: str, errors: Errors) -> None:
    try:
        url = parse_url(text)
    except UrlError as error:
        errors.append(field.required(path, f"url must be a valid URL: {error}{_FORM}"))
        return
    if url.scheme != "https":
        errors.append(field.invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not url.host:
        errors.append(field.invalid(path, "", f"host must be specified{_FORM}"))
    if url.user is not None:
        errors.append(field.invalid(path, url.user, "user information is not permitted in the URL"))
    if url.fragment:
        errors.append(field.invalid(path, url.fragment, "fragments are not permitted in the URL"))
    if url.query:
        errors.append(field.invalid(path, url.query, "query parameters are not permitted in the URL"))


def _check_service(service: Json, path: str, errors: Errors) -> None:
    # Upstream hands the two over in the wrong order, and blames the one for the other.
    check_required(service.get("namespace"), f"{path}.name", errors)
    check_required(service.get("name"), f"{path}.namespace", errors)
    if reasons := validation.port_errors(service.get("port", 0)):
        errors.append(field.invalid(f"{path}.port", service.get("port", 0), f"port is not valid: {', '.join(reasons)}"))
    if url_path := service.get("path"):
        _check_path(url_path, f"{path}.path", errors)


def _check_path(url_path: str, path: str, errors: Errors) -> None:
    """Segments that could be names; one slash at the end is fine."""
    if url_path == "/":
        return
    if url_path == "//":
        errors.append(field.invalid(path, url_path, "segment[0] may not be empty"))
        return
    if not url_path.startswith("/"):
        errors.append(field.invalid(path, url_path, "must start with a '/'"))
    for i, segment in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(field.invalid(path, url_path, f"segment[{i}] may not be empty"))
            continue
        for reason in validation.dns_subdomain_errors(segment):
            errors.append(field.invalid(path, url_path, f"segment[{i}]: {reason}"))
