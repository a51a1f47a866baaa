"""The operator as a process: `python -m examples.operators.certificate --kubeconfig ~/.kube/config`."""

from __future__ import annotations

import random
import sys
from functools import partial

from examples.operators.certificate import api
from examples.operators.certificate.keys import new_key
from examples.operators.certificate.reconciler import add_to
from kubeloop.runtime import flags, process


def main() -> int:
    parser = flags.parser(api.OPERATOR, "Keeps a TLS Secret for each Certificate, and renews it in time.")
    parser.set_defaults(leader_elect_resource_namespace=api.SYSTEM_NAMESPACE)  # the one it has rights in
    chance = random.SystemRandom()  # nobody may guess a serial number
    return process.run(api.OPERATOR, parser.parse_args(), partial(add_to, rng=chance, new_key=new_key))


if __name__ == "__main__":
    sys.exit(main())
