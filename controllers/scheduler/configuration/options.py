"""The flags that say how the scheduler decides: the scheduler has them, and `why`, which decides as it does."""

from __future__ import annotations

import argparse
from pathlib import Path

from controllers.scheduler.configuration.loading import Configuration, load


def add_options(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("scheduling")
    options.add_argument("--config", type=Path, help="a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)")
    options.add_argument(
        "--plugin", action="append", default=[], metavar="MODULE:CLASS", help="a plugin of your own; may be repeated"
    )


def load_from(arguments: argparse.Namespace) -> Configuration:
    """Raises ValueError, with a text for the user."""
    return load(arguments.config, arguments.plugin)
