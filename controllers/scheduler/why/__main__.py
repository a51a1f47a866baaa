"""`python -m controllers.scheduler.why pod/NAME`: what the scheduler thinks of a pod, and what would change that."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from random import Random

from controllers.scheduler.configuration.options import add_options, load_from
from controllers.scheduler.extenders.chain import over_http
from controllers.scheduler.why.cluster import read_situation
from controllers.scheduler.why.explanation import explain
from controllers.scheduler.why.report import as_json, as_text
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.arguments import Arguments
from kubeloop.client import kubeconfig
from kubeloop.client.kubeconfig import KubeconfigError

_POD_WORDS = ("pod", "pods", "po")


def main() -> int:
    arguments = _arguments()
    exit_code = 0
    try:
        sys.stdout.write(asyncio.run(_explain(arguments)) + "\n")
    except* (ApiError, ValueError, KubeconfigError) as refused:
        sys.stderr.write(f"error: {refused.exceptions[0]}\n")
        exit_code = 1
    return exit_code


def _arguments() -> argparse.Namespace:
    parser = Arguments("why", "Why a pod went where it went, or nowhere.")
    parser.add_argument("pod", type=_pod_name, help="pod/NAME, or NAME")
    parser.add_argument("-n", "--namespace", default="", help="(default: that of the kubeconfig's context)")
    parser.add_argument("-o", "--output", choices=["text", "json"], default="text")
    parser.add_argument("--master", default="", help="address of the API server; overrides the kubeconfig's")
    parser.add_argument("--kubeconfig", default="", help="path of a kubeconfig (default: $KUBECONFIG, ~/.kube/config)")
    parser.add_argument("--context", default="", help="of the kubeconfig (default: the current one)")
    parser.add_argument("--token", default="", help="bearer token")
    add_options(parser)
    return parser.parse_args()


async def _explain(arguments: argparse.Namespace) -> str:
    rng, configuration = Random(), load_from(arguments)
    profiles, extenders = configuration.profiles, over_http(configuration.extenders)
    connected = kubeconfig.connect(arguments.kubeconfig, arguments.master, arguments.token, context=arguments.context)
    async with connected as api:
        situation = await read_situation(api, ObjectKey(_namespace(arguments), arguments.pod), profiles, rng, extenders)
    explanation = explain(situation, rng)
    return json.dumps(as_json(explanation), indent=2) if arguments.output == "json" else as_text(explanation)


def _namespace(arguments: argparse.Namespace) -> str:
    if arguments.namespace or (arguments.master and not arguments.kubeconfig):
        return arguments.namespace or "default"
    files = kubeconfig.paths(arguments.kubeconfig, os.environ)
    return kubeconfig.load(files, arguments.context).namespace or "default"


def _pod_name(text: str) -> str:
    kind, slash, name = text.rpartition("/")
    if (slash and kind not in _POD_WORDS) or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is no pod: write pod/NAME")
    return name


if __name__ == "__main__":
    sys.exit(main())
