"""`python -m controllers.scheduler`: the scheduler as a process of its own."""

from __future__ import annotations

import socket
import sys

from controllers.scheduler import loop
from kubeloop.runtime import flags, process
from kubeloop.runtime.manager import Manager


def main() -> int:
    arguments = flags.parser("kube-scheduler", "Finds a node for every pod that has none.").parse_args()
    return process.run("kube-scheduler", arguments, _populate)


def _populate(manager: Manager) -> None:
    loop.add_to(manager, host=socket.gethostname())


if __name__ == "__main__":
    sys.exit(main())
