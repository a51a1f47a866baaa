"""`python -m examples.operators.gitops --kubeconfig ~/.kube/config`"""

from __future__ import annotations

import argparse
import sys

from examples.operators.gitops.controller import POLL_SECONDS, add_to
from examples.operators.gitops.git import LocalGit
from kubeloop.runtime import flags, process

NAME = "gitops-operator"
NAMESPACE = "gitops-system"


def parser() -> argparse.ArgumentParser:
    parser = flags.parser(NAME, "Keeps the cluster as Git repositories say, for each Application.")
    parser.set_defaults(leader_elect_resource_namespace=NAMESPACE)
    parser.add_argument(
        "--poll-interval",
        type=flags.duration,
        default=POLL_SECONDS,
        help=f"how often each Application's revision is looked up (default {POLL_SECONDS:g}s)",
    )
    return parser


def main() -> int:
    arguments = parser().parse_args()
    return process.run(NAME, arguments, lambda manager: add_to(manager, LocalGit(), arguments.poll_interval))


if __name__ == "__main__":
    sys.exit(main())
