"""`python -m controllers`: control loops in one process, as kube-controller-manager runs them.

Each loop may as well run in a process of its own (--controllers=deployment): they share nothing but the API.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from controllers import catalog, node_ipam
from controllers.catalog import Loop, Settings
from controllers.certificates import flags as signing_flags
from controllers.horizontal_pod_autoscaler import flags as autoscaling_flags
from kubeloop.apimachinery.releases import DEFAULT
from kubeloop.arguments import release_of
from kubeloop.runtime import flags, process

COMPONENT = "kube-controller-manager"


def main() -> int:
    arguments = _parser().parse_args()
    try:
        wanted = catalog.select(arguments.controllers.split(","))
        loops = [loop for loop in wanted if loop.is_for(arguments.kubernetes_version)]
        settings = _settings(arguments)
    except (catalog.UnknownLoop, signing_flags.SigningFlagsError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return process.run(
        _component(wanted),
        arguments,
        lambda manager: catalog.add_to(manager, loops, settings),
        COMPONENT,
        managed_fields=False,
    )


def _parser() -> argparse.ArgumentParser:
    parser = flags.parser(COMPONENT)
    names = ", ".join(loop.name for loop in catalog.LOOPS)
    parser.add_argument(
        "--controllers",
        default="*",
        help=f"the loops to run: names, '*' for all, '-name' for all but that one. All: {names}",
    )
    parser.add_argument(
        "--kubernetes-version",
        type=release_of,
        default=DEFAULT,
        metavar="VERSION",
        help="that of the API server: what it does not serve yet needs no loop (default %(default)s)",
    )
    parser.add_argument("--root-ca-file", default="", help="the CA bundle that pods are given, as a PEM file")
    parser.add_argument(
        "--default-storage-class",
        action="store_true",
        help="give a cluster without a default storage class one, `standard`, whose volumes are simulated",
    )
    parser.add_argument(
        "--cluster-cidr",
        default=node_ipam.DEFAULT_CLUSTER_CIDR,
        help="addresses of pods, of which each node gets a block; one network, or one of each family"
        " (default %(default)s)",
    )
    parser.add_argument(
        "--service-account-private-key-file",
        type=Path,
        help="the key that signs tokens in Secrets, the API server's own; made with the first token where it is not"
        " there. Without this no such Secret is filled",
    )
    parser.add_argument(
        "--legacy-service-account-token-clean-up-period",
        type=flags.duration,
        default=catalog.Settings().legacy_token_seconds,
        help="how long a token that an old cluster made of itself may go unused before it is removed (default 8760h)",
    )
    signing_flags.add_flags(parser)
    autoscaling_flags.add_flags(parser)
    return parser


def _component(loops: list[Loop]) -> str:
    """Also the name of the leader election's lease: processes that run different loops must not wait for each other."""
    if len(loops) == len(catalog.LOOPS):
        return COMPONENT
    return loops[0].name if len(loops) == 1 else "-".join((COMPONENT, *(loop.alias for loop in loops)))


def _settings(arguments: argparse.Namespace) -> Settings:
    settings = Settings(
        default_storage_class=arguments.default_storage_class,
        cluster_cidr=arguments.cluster_cidr,
        service_account_key=arguments.service_account_private_key_file,
        legacy_token_seconds=arguments.legacy_service_account_token_clean_up_period,
        signing=signing_flags.signing_of(arguments),
        autoscaling=autoscaling_flags.settings_of(arguments),
    )
    if arguments.root_ca_file:
        settings = replace(settings, root_ca=Path(arguments.root_ca_file).read_text())
    return settings


if __name__ == "__main__":
    sys.exit(main())
