"""`python -m controllers.scheduler`: the scheduler as a process of its own."""

from __future__ import annotations

import argparse
import socket
import sys

from controllers.scheduler import loop
from controllers.scheduler.backoff import Backoff
from controllers.scheduler.configuration.flag_defaults import flag_defaults
from controllers.scheduler.configuration.options import add_options, load_from
from controllers.scheduler.extenders.chain import over_http
from kubeloop.apimachinery.releases import DEFAULT, release
from kubeloop.runtime import flags, process
from kubeloop.runtime.manager import Manager


def main() -> int:
    parser = _parser()
    try:
        configuration = load_from(parser.parse_args())
        parser.set_defaults(**flag_defaults(configuration))
    except (ValueError, argparse.ArgumentTypeError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1

    def populate(manager: Manager) -> None:
        backoff = Backoff(manager.clock, configuration.initial_backoff_seconds, configuration.max_backoff_seconds)
        loop.add_to(
            manager,
            configuration.profiles,
            socket.gethostname(),
            backoff,
            kubernetes_version=arguments.kubernetes_version,
            extenders=over_http(configuration.extenders),
        )

    arguments = parser.parse_args()
    return process.run("kube-scheduler", arguments, populate, managed_fields=False)


def _parser() -> argparse.ArgumentParser:
    parser = flags.parser("kube-scheduler", "Finds a node for every pod that has none.")
    parser.add_argument(
        "--kubernetes-version",
        type=release,
        default=DEFAULT,
        metavar="VERSION",
        help="that of the API server: what it does not serve yet is not waited for (default %(default)s)",
    )
    add_options(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
