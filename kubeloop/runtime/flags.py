"""The flags that every loop process has, named as kube-controller-manager names them."""

from __future__ import annotations

import argparse
import re

from kubeloop.arguments import Arguments

_UNITS_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_duration_part = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def parser(component: str, description: str = "", elects: bool = True) -> argparse.ArgumentParser:
    """A process adds its own flags to what this returns. `elects=False`: it has no leader and no flags about one."""
    parser = Arguments(component, description)
    api = parser.add_argument_group("API server")
    api.add_argument("--master", default="", help="address of the API server; overrides the kubeconfig's")
    api.add_argument(
        "--kubeconfig",
        default="",
        help="path of a kubeconfig (default: $KUBECONFIG, or what a pod is given, or ~/.kube/config)",
    )
    api.add_argument("--token", default="", help="bearer token")
    api.add_argument("--token-file", default="", help="file with the bearer token, read again every minute")
    api.add_argument("--kube-api-qps", type=float, default=0, help="accepted for compatibility; nothing is throttled")
    api.add_argument("--kube-api-burst", type=int, default=0, help="accepted for compatibility; nothing is throttled")
    if elects:
        _add_election(parser, component)
    else:
        parser.set_defaults(leader_elect=False)
    logs = parser.add_argument_group("logs and health")
    logs.add_argument("--logging-format", choices=["text", "json"], default="text")
    logs.add_argument("-v", "--v", dest="verbosity", type=int, default=2, help="from 4 on, debug messages too")
    logs.add_argument("--bind-address", default="127.0.0.1", help="where /healthz, /readyz and /metrics are served")
    logs.add_argument("--secure-port", type=int, default=0, help="their port; 0 turns them off")
    return parser


def _add_election(parser: argparse.ArgumentParser, component: str) -> None:
    election = parser.add_argument_group("leader election")
    election.add_argument(
        "--leader-elect", type=boolean, nargs="?", const=True, default=True, metavar="BOOL", help="(default true)"
    )
    election.add_argument("--no-leader-elect", dest="leader_elect", action="store_false", help="--leader-elect=false")
    election.add_argument(
        "--leader-elect-resource-namespace", default="kube-system", help="where the Lease lies (default kube-system)"
    )
    election.add_argument("--leader-elect-resource-name", default=component, help=f"its name (default {component})")
    for name, default in (("lease-duration", "15s"), ("renew-deadline", "10s"), ("retry-period", "2s")):
        election.add_argument(
            f"--leader-elect-{name}", type=duration, default=duration(default), help=f"(default {default})"
        )


def duration(text: str) -> float:
    """Go's durations (`1m30s`, `500ms`) as seconds."""
    parts = _duration_part.findall(text)
    if text != "0" and (not parts or "".join(number + unit for number, unit in parts) != text):
        raise argparse.ArgumentTypeError(f"invalid duration {text!r}: write it as 15s, 1m30s or 500ms")
    return sum(float(number) * _UNITS_SECONDS[unit] for number, unit in parts)


def boolean(text: str) -> bool:
    """What Go's flags take for a bool."""
    if text.lower() in ("1", "t", "true"):
        return True
    if text.lower() in ("0", "f", "false"):
        return False
    raise argparse.ArgumentTypeError(f"invalid value {text!r}: true or false")
