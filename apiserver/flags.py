"""The flags of `python -m apiserver`, named as kube-apiserver names them; docs/cli.md lists them all."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apiserver.auth.modes import RBAC
from apiserver.handlers.audit_log import FORMATS
from apiserver.handlers.deadlines import USUAL
from apiserver.handlers.limits import MAX_READS, MAX_WRITES
from kubeloop.apimachinery.addresses import parse_cidr
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.go_duration import duration_error, duration_seconds, duration_text
from kubeloop.apimachinery.releases import DEFAULT
from kubeloop.apimachinery.service_addresses import SERVICE_RANGE
from kubeloop.arguments import Arguments, release_of

Add = Callable[..., Any]

_DURATIONS = ("request_timeout", "late_answers", "late_watches")


def parser() -> argparse.ArgumentParser:
    """Reads the command line."""
    parser = Arguments("apiserver", "The Kubernetes API over a revision log.")
    add = parser.add_argument
    add("--bind-address", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add("--port", "--secure-port", type=int, default=8001, help="port to listen on (default %(default)s)")
    add("--data-dir", type=Path, default=Path(".kubeloop"), help="where the state is kept (default %(default)s)")
    add("--storage", choices=["sqlite", "memory"], default="sqlite", help="memory forgets everything at the end")
    add(
        "--kubernetes-version",
        type=release_of,
        default=DEFAULT,
        metavar="VERSION",
        help="serve the kinds and fields of this minor version (default %(default)s)",
    )
    add("--token-auth-file", action="append", default=[], metavar="FILE", help='lines of token,user,uid,"groups"')
    add("--anonymous-auth", type=_boolean, default=True, metavar="BOOL", help="let requests without a token in")
    add(
        "--authorization-mode",
        type=_names,
        default=[RBAC],
        metavar="LIST",
        help="who is asked whether a request may be made, in order: AlwaysAllow, AlwaysDeny, Node, RBAC (default RBAC)",
    )
    add(
        "--insecure-kubectl-user",
        default="",
        metavar="NAME",
        help="over plain HTTP kubectl sends no credentials: take it for this member of system:masters",
    )
    add("--tls-cert-file", type=Path, metavar="FILE", help="serve HTTPS with this certificate")
    add("--tls-private-key-file", type=Path, metavar="FILE", help="its key")
    add("--client-ca-file", type=Path, metavar="FILE", help="whose client certificates name users (CN) and groups (O)")
    add("--proxy-client-cert-file", type=Path, metavar="FILE", help="the certificate shown to aggregated API servers")
    add("--proxy-client-key-file", type=Path, metavar="FILE", help="its key")
    add("--kubelet-token-file", type=Path, metavar="FILE", help="what kubelets on plain HTTP know this server by")
    add("--kubelet-client-certificate", type=Path, metavar="FILE", help="what kubelets on TLS know this server by")
    add("--kubelet-client-key", type=Path, metavar="FILE", help="its key")
    add("--kubelet-certificate-authority", type=Path, metavar="FILE", help="who signs the certificates of kubelets")
    add("--requestheader-client-ca-file", type=Path, metavar="FILE", help="who signed it, told to those servers")
    add(
        "--requestheader-allowed-names",
        type=_names,
        default=[],
        metavar="LIST",
        help="the common names of that certificate, told to them too (default: any)",
    )
    _add_token_flags(add)
    add("--max-requests-inflight", type=_count, default=MAX_READS, metavar="N", help="reads at once; 0: no limit")
    add(
        "--max-mutating-requests-inflight",
        type=_count,
        default=MAX_WRITES,
        metavar="N",
        help="writes at once; 0: no limit",
    )
    add(
        "--request-timeout",
        type=_duration,
        default=USUAL.request_seconds,
        metavar="TIME",
        help="of a write (default 1m)",
    )
    add(
        "--min-request-timeout",
        type=_count,
        default=int(USUAL.min_watch_seconds),
        metavar="SECONDS",
        help="of a watch that names no time (default %(default)s)",
    )
    add(
        "--service-cluster-ip-range",
        type=_service_ranges,
        default=[SERVICE_RANGE],
        metavar="CIDRS",
        help=f"where cluster IPs come from; two, one of each family, make it dual-stack (default {SERVICE_RANGE})",
    )
    add("--goaway-chance", type=float, default=0, metavar="CHANCE", help="accepted; connections are never sent away")
    _add_admission_flags(add)
    _add_audit_flags(add)
    _add_lateness_flags(add)
    add("--logging-format", choices=["text", "json"], default="text")
    add("-v", type=int, default=0, metavar="LEVEL", help="verbosity; 4 and more logs details")
    return parser


def shown(options: argparse.Namespace) -> dict[str, str]:
    """Every flag by its name with its value as Go spells it. None of them holds a secret."""
    return {name.replace("_", "-"): _spelled(name, value) for name, value in vars(options).items()}


def _spelled(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    if name in _DURATIONS and isinstance(value, float | int):
        return duration_text(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _add_token_flags(add: Add) -> None:
    """Service account tokens: who signs them, and what they are for."""
    add(
        "--service-account-issuer",
        action="append",
        default=[],
        metavar="URL",
        help="who issues tokens; the first signs",
    )
    add(
        "--service-account-signing-key-file",
        type=Path,
        metavar="FILE",
        help="signs (default: made in the data directory)",
    )
    add(
        "--service-account-key-file",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="more keys that verify",
    )
    add("--service-account-jwks-uri", default="", metavar="URL", help="where others find the public keys")
    add("--service-account-extend-token-expiration", type=_boolean, default=True, metavar="BOOL", help="(default true)")
    add("--api-audiences", default="", metavar="LIST", help="what a token must be for (default: the issuers)")


def _add_admission_flags(add: Add) -> None:
    """Which plugins a write passes, beside or instead of those that are on by default."""
    for flag, help_text in (
        ("--enable-admission-plugins", "plugins that are on beside the default ones"),
        ("--disable-admission-plugins", "default plugins that are off"),
    ):
        add(flag, type=_names, action="extend", default=[], metavar="LIST", help=help_text)


def _add_audit_flags(add: Add) -> None:
    """Who did what: where it is written, what of it, and how much is kept."""
    add("--audit-log-path", default="", metavar="FILE", help="write who did what, a line each; - is standard output")
    add("--audit-policy-file", type=Path, metavar="FILE", help="what is written (default: all requests, no bodies)")
    add("--audit-log-format", choices=list(FORMATS), default="json", help="(default %(default)s)")
    add("--audit-log-maxsize", type=_count, default=0, metavar="MB", help="begin a new file then; 0: never")
    add("--audit-log-maxbackup", type=_count, default=0, metavar="N", help="old files kept; 0: all")
    add("--audit-log-maxage", type=_count, default=0, metavar="DAYS", help="days that old files are kept; 0: for ever")


def _add_lateness_flags(add: Add) -> None:
    """A server that is late on purpose."""
    for flag, help_text in (
        ("--late-answers", "let each request wait for up to so long before it is looked at (default 0s)"),
        ("--late-watches", "let what a watch sends come late by up to so long (default 0s)"),
    ):
        add(flag, type=_lateness, default=0.0, metavar="TIME", help=help_text)
    add(
        "--late-seed",
        type=int,
        metavar="N",
        help="what the times in between are drawn from (default: others each time)",
    )


def _names(text: str) -> list[str]:
    """A comma-separated list; empty for an empty text."""
    return text.split(",") if text else []


def _boolean(text: str) -> bool:
    if text.lower() in ("true", "1"):
        return True
    if text.lower() in ("false", "0"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def _duration(text: str) -> float:
    if why := duration_error(text):
        raise argparse.ArgumentTypeError(f"time: {why}")
    return duration_seconds(text)


def _lateness(text: str) -> float:
    seconds = _duration(text)
    if seconds < 0:
        raise argparse.ArgumentTypeError(f"time: {go_quote(text)} is negative: nothing comes before it is asked for")
    return seconds


def _service_ranges(text: str) -> list[str]:
    """One CIDR, or two of different families; their size is bounded as upstream's is."""
    networks = [parse_cidr(part.strip()) for part in text.split(",")]
    if None in networks or not 1 <= len(networks) <= 2:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a CIDR nor two, separated by a comma")
    found = [network for network in networks if network is not None]
    if len({network.version for network in found}) < len(found):
        raise argparse.ArgumentTypeError("the two ranges must be of different IP families")
    for network in found:
        if network.version == 6 and network.prefixlen < 64:
            raise argparse.ArgumentTypeError(f"{network} is too large: the prefix of an IPv6 range is at least 64")
        if network.num_addresses < 8:
            raise argparse.ArgumentTypeError("the service cluster IP range must be at least 8 IP addresses")
    return [str(network) for network in found]


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number; 0 is no limit")
    return int(text)
