"""Windows security options: credentials, user names, host processes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import Errors, check_dns_subdomain
from apiserver.resources.pods.surroundings import all_containers
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

MAX_CREDENTIAL_SPEC_KIB = 64
MAX_DOMAIN_LENGTH = 256
MAX_USER_LENGTH = 104

_DNS_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_has_control_character = re.compile(r"[\x00-\x1f\x7f]").search
_is_netbios_name = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_is_dns_domain = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_has_bad_character = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_is_dots_and_spaces = re.compile(r"[. ]+").fullmatch


def check_windows_options(options: Json | None, path: str, errors: Errors) -> None:
    if options is None:
        return
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        check_dns_subdomain(name, f"{path}.gmsaCredentialSpecName", errors)
    if (spec := options.get("gmsaCredentialSpec")) is not None:
        _check_credential_spec(spec, f"{path}.gmsaCredentialSpec", errors)
    if (user_name := options.get("runAsUserName")) is not None:
        for reason in _user_name_errors(user_name):
            errors.append(field.invalid(f"{path}.runAsUserName", user_name, f"runAsUserName{reason}"))


def check_host_processes(spec: Json, path: str, errors: Errors) -> None:
    """Either all containers are host processes, on the host's network, or none is."""
    pod_wide = _host_process(spec)
    total = host_processes = 0
    for container, at in all_containers(spec, path):
        total += 1
        own = _host_process(container)
        if pod_wide is not None and own is not None and pod_wide != own:
            reason = f"pod hostProcess value must be identical if both are specified, was {str(pod_wide).lower()}"
            errors.append(field.invalid(f"{at}.securityContext.windowsOptions.hostProcess", own, reason))
        if pod_wide if own is None else own:
            host_processes += 1
    if not host_processes:
        return
    if host_processes != total:
        reason = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(field.invalid(path, "", reason))
    if not spec.get("hostNetwork"):
        reason = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(field.invalid(f"{path}.hostNetwork", False, reason))


def _host_process(holder: Json) -> bool | None:
    options = (holder.get("securityContext") or {}).get("windowsOptions") or {}
    value: bool | None = options.get("hostProcess")
    return value


def _check_credential_spec(spec: str, path: str, errors: Errors) -> None:
    if not spec:
        errors.append(field.invalid(path, spec, "gmsaCredentialSpec cannot be an empty string"))
    elif len(spec) > MAX_CREDENTIAL_SPEC_KIB * 1024:
        reason = f"gmsaCredentialSpec size must be under {MAX_CREDENTIAL_SPEC_KIB} KiB"
        errors.append(field.invalid(path, spec, reason))


def _user_name_errors(user_name: str) -> list[str]:
    """What is wrong with `[domain\\]user`, each reason as it follows the field's name."""
    if not user_name:
        return [" cannot be an empty string"]
    if _has_control_character(user_name):
        return [" cannot contain control characters"]
    if user_name.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, backslash, user = user_name.rpartition("\\")
    reasons = []
    if len(domain) >= MAX_DOMAIN_LENGTH:
        reasons.append(f"'s Domain length must be under {MAX_DOMAIN_LENGTH} characters")
    if backslash and not (_is_netbios_name(domain) or _is_dns_domain(domain)):
        reasons.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        reasons.append("'s User cannot be empty")
    elif len(user) > MAX_USER_LENGTH:
        reasons.append(f"'s User length must not be longer than {MAX_USER_LENGTH} characters")
    if _is_dots_and_spaces(user):
        reasons.append("'s User cannot contain only periods or spaces")
    if _has_bad_character(user):
        reasons.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return reasons
