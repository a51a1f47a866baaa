"""The operator as a process: `python -m examples.operators.mysql_backup --kubeconfig ~/.kube/config`."""

from __future__ import annotations

import sys

from examples.operators.mysql_backup import api
from examples.operators.mysql_backup.reconciler import add_to
from kubeloop.runtime import flags, process


def main() -> int:
    parser = flags.parser(api.OPERATOR, "Dumps a MySQL database for each MySQLBackup.")
    parser.set_defaults(leader_elect_resource_namespace=api.SYSTEM_NAMESPACE)  # the one it has rights in
    return process.run(api.OPERATOR, parser.parse_args(), add_to)


if __name__ == "__main__":
    sys.exit(main())
