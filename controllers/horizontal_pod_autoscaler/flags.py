"""The flags of the autoscaler, named as kube-controller-manager names them."""

from __future__ import annotations

import argparse

from controllers.horizontal_pod_autoscaler.model import USUAL, Settings
from kubeloop.runtime import flags

_PREFIX = "--horizontal-pod-autoscaler-"


def add_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("horizontal pod autoscaler")

    def add_duration(name: str, seconds: float, text: str, purpose: str) -> None:
        group.add_argument(
            _PREFIX + name, type=flags.duration, default=seconds, metavar="TIME", help=f"{purpose} (default {text})"
        )

    add_duration("sync-period", USUAL.sync_seconds, "15s", "how often an autoscaler is looked at")
    add_duration(
        "downscale-stabilization",
        USUAL.downscale_window_seconds,
        "5m",
        "the highest of what was called for in this time is what it is scaled down to",
    )
    add_duration(
        "cpu-initialization-period",
        USUAL.cpu_initialization_seconds,
        "5m",
        "how long CPU usage of a pod that is not ready counts for nothing",
    )
    add_duration(
        "initial-readiness-delay",
        USUAL.initial_readiness_seconds,
        "30s",
        "a pod that is not ready since so long after its start was never ready",
    )
    group.add_argument(
        f"{_PREFIX}tolerance",
        type=float,
        default=USUAL.tolerance,
        metavar="SHARE",
        help="how far usage may be from its target before anything is done (default %(default)s)",
    )
    group.add_argument(
        "--concurrent-horizontal-pod-autoscaler-syncs",
        type=int,
        default=USUAL.workers,
        metavar="N",
        help="how many are looked at at once (default %(default)s)",
    )


def settings_of(arguments: argparse.Namespace) -> Settings:
    return Settings(
        sync_seconds=arguments.horizontal_pod_autoscaler_sync_period,
        downscale_window_seconds=arguments.horizontal_pod_autoscaler_downscale_stabilization,
        tolerance=arguments.horizontal_pod_autoscaler_tolerance,
        cpu_initialization_seconds=arguments.horizontal_pod_autoscaler_cpu_initialization_period,
        initial_readiness_seconds=arguments.horizontal_pod_autoscaler_initial_readiness_delay,
        workers=arguments.concurrent_horizontal_pod_autoscaler_syncs,
    )
