"""What a pod calls itself and how it looks others up: its host name, /etc/hosts and /etc/resolv.conf. Pure.

Facts: pkg/kubelet/kubelet_pods.go, util/util.go and network/dns/dns.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubeloop.apimachinery.meta import ReadOnlyObject, metadata

CLUSTER_DOMAIN = "cluster.local"
_MOST_IN_NAME, _MOST_IN_FQDN = 63, 64
_CLUSTER_DNS = "10.96.0.10"
_OPTIONS = ("ndots:5",)  # of pods that ask the cluster first
_HEADER, _HEADER_OF_HOST = "# Kubernetes-managed hosts file.", "# Kubernetes-managed hosts file (host network)."
_LOCAL = (
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
)


def hostname(pod: ReadOnlyObject) -> str:
    """As its kernel knows it."""
    spec = pod["spec"]
    if spec.get("hostNetwork"):
        return spec.get("nodeName") or ""
    return _full_name(pod) if spec.get("setHostnameAsFQDN") else _short_name(pod)


def problem(pod: ReadOnlyObject) -> str:
    """Why it cannot have its name; "" where it can."""
    spec, name = pod["spec"], _full_name(pod)
    if spec.get("hostNetwork") or not spec.get("setHostnameAsFQDN") or len(name) <= _MOST_IN_FQDN:
        return ""
    return (
        f"failed to construct FQDN from pod hostname and cluster domain, FQDN {name} is too long "
        f"({_MOST_IN_FQDN} characters is the max, {len(name)} characters requested)"
    )


def hosts_file(pod: ReadOnlyObject) -> str:
    return "\n".join((*_hosts(pod), *_aliases(pod), ""))


def resolv_conf(pod: ReadOnlyObject) -> str:
    """A node's own resolver is asked as the cluster's is, but for the cluster's domains."""
    spec = pod["spec"]
    policy, config = spec.get("dnsPolicy") or "ClusterFirst", spec.get("dnsConfig") or {}
    asks_cluster = policy == "ClusterFirstWithHostNet" or (policy == "ClusterFirst" and not spec.get("hostNetwork"))
    servers = [] if policy == "None" else [_CLUSTER_DNS]
    services = f"svc.{CLUSTER_DOMAIN}"
    searches = [f"{metadata(pod)['namespace']}.{services}", services, CLUSTER_DOMAIN] if asks_cluster else []
    options = dict(_parted(option) for option in (_OPTIONS if asks_cluster else ()))
    servers += config.get("nameservers") or ()
    searches += config.get("searches") or ()
    options |= {one["name"]: one.get("value") or "" for one in config.get("options") or ()}
    lines = [f"search {' '.join(dict.fromkeys(searches))}"] if searches else []
    lines += [f"nameserver {server}" for server in dict.fromkeys(servers)]
    if options:
        lines.append(f"options {' '.join(name + (f':{value}' if value else '') for name, value in options.items())}")
    return "".join(f"{line}\n" for line in lines)


def _hosts(pod: ReadOnlyObject) -> Iterator[str]:
    spec, status = pod["spec"], pod.get("status") or {}
    addresses = [one["ip"] for one in status.get("podIPs") or ()]
    if spec.get("hostNetwork"):
        yield from (_HEADER_OF_HOST, *_LOCAL[:2], *(f"{ip}\t{hostname(pod)}" for ip in addresses))
        return
    short, full = _short_name(pod), _full_name(pod)
    yield from (_HEADER, *_LOCAL)
    yield from (f"{ip}\t{short}" if short == full else f"{ip}\t{full}\t{short}" for ip in addresses)


def _aliases(pod: ReadOnlyObject) -> Iterator[str]:
    aliases = pod["spec"].get("hostAliases") or ()
    if aliases:
        yield from ("", "# Entries added by HostAliases.")
    yield from ("\t".join((one["ip"], *(one.get("hostnames") or ()))) for one in aliases)


def _short_name(pod: ReadOnlyObject) -> str:
    spec: Any = pod["spec"]
    return _cut(spec.get("hostnameOverride") or spec.get("hostname") or metadata(pod)["name"])


def _full_name(pod: ReadOnlyObject) -> str:
    """With its domain, where it has one."""
    spec, name = pod["spec"], _short_name(pod)
    if not spec.get("subdomain") or spec.get("hostnameOverride"):
        return name
    return f"{name}.{spec['subdomain']}.{metadata(pod)['namespace']}.svc.{CLUSTER_DOMAIN}"


def _cut(name: str) -> str:
    return name if len(name) <= _MOST_IN_NAME else name[:_MOST_IN_NAME].rstrip("-.")


def _parted(option: str) -> tuple[str, str]:
    name, _, value = option.partition(":")
    return name, value
