"""Names a pod goes by and resolves: DNS settings, host names, host aliases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_ITEMS, Errors, check_dns_subdomain, check_ip, check_with
from kubeloop.apimachinery import field, validation

Json = Mapping[str, Any]

MAX_NAMESERVERS = 3
MAX_SEARCHES = 32
MAX_SEARCH_CHARACTERS = 2048
MAX_HOSTNAME = 64


def check_dns_config(config: Json | None, policy: str, path: str, errors: Errors) -> None:
    if policy == "None":
        if config is None:
            errors.append(field.required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.get("nameservers"):
            reason = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errors.append(field.required(f"{path}.nameservers", reason))
            return
    if config is None:
        return
    _check_nameservers(config.get("nameservers") or NO_ITEMS, f"{path}.nameservers", errors)
    _check_searches(config.get("searches") or NO_ITEMS, f"{path}.searches", errors)
    for i, option in enumerate(config.get("options") or NO_ITEMS):
        if not option.get("name"):
            errors.append(field.required(f"{path}.options[{i}]", "must not be empty"))


def check_hostname_override(spec: Json, path: str, errors: Errors) -> None:
    name = spec.get("hostnameOverride")
    if name is None:
        return
    at = f"{path}.hostnameOverride"
    for other in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(other):
            errors.append(field.forbidden(at, f"may not be specified when {other} is true"))
    if len(name) > MAX_HOSTNAME:
        errors.append(field.too_long(at, MAX_HOSTNAME))
    check_dns_subdomain(name, at, errors)


def check_host_aliases(aliases: Sequence[Json], path: str, errors: Errors) -> None:
    for i, alias in enumerate(aliases):
        check_ip(alias.get("ip", ""), f"{path}[{i}].ip", errors)
        for j, name in enumerate(alias.get("hostnames") or NO_ITEMS):
            check_dns_subdomain(name, f"{path}[{i}].hostnames[{j}]", errors)


def _check_nameservers(servers: Sequence[str], path: str, errors: Errors) -> None:
    if len(servers) > MAX_NAMESERVERS:
        reason = f"must not have more than {MAX_NAMESERVERS} nameservers"
        errors.append(field.invalid(path, list(servers), reason))
    for i, server in enumerate(servers):
        check_ip(server, f"{path}[{i}]", errors)


def _check_searches(searches: Sequence[str], path: str, errors: Errors) -> None:
    if len(searches) > MAX_SEARCHES:
        reason = f"must not have more than {MAX_SEARCHES} search paths"
        errors.append(field.invalid(path, list(searches), reason))
    if len(" ".join(searches)) > MAX_SEARCH_CHARACTERS:
        reason = f"must not have more than {MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        errors.append(field.invalid(path, list(searches), reason))
    for i, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            check_with(validation.dns_subdomain_with_underscore_errors(name), name, f"{path}[{i}]", errors)
