"""`python -m kubelet_sim.metrics`: the metrics server of a simulated cluster."""

from __future__ import annotations

import argparse
import base64
import logging
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from kubelet_sim.metrics.application import Application
from kubelet_sim.metrics.registration import stand_for
from kubelet_sim.metrics.scraper import RESOLUTION_SECONDS, Scraper
from kubeloop.runtime import flags, process
from kubeloop.runtime.manager import Manager

COMPONENT = "metrics-server"
_HOST = "127.0.0.1"
_STOP_SECONDS = 2


def main() -> int:
    parser = _parser()
    arguments = parser.parse_args()
    if (arguments.tls_cert_file is None) != (arguments.tls_private_key_file is None):
        parser.error("--tls-cert-file and --tls-private-key-file are needed, both, to serve HTTPS")
    return process.run(COMPONENT, arguments, lambda manager: _add_to(manager, arguments))


def _parser() -> argparse.ArgumentParser:
    parser = flags.parser(COMPONENT, "Serves what simulated nodes and pods use as metrics.k8s.io.", elects=False)
    metrics = parser.add_argument_group("metrics")
    metrics.add_argument(
        "--metric-resolution",
        type=flags.duration,
        default=RESOLUTION_SECONDS,
        metavar="TIME",
        help="how often usage is looked at (default 15s)",
    )
    metrics.add_argument("--port", type=int, default=0, help="on loopback (default: any that is free)")
    metrics.add_argument("--tls-cert-file", type=Path, metavar="FILE", help="serve HTTPS with this certificate")
    metrics.add_argument("--tls-private-key-file", type=Path, metavar="FILE", help="its key")
    metrics.add_argument("--ca-file", type=Path, metavar="FILE", help="who signed it, for the APIService")
    metrics.add_argument(
        "--requestheader-client-ca-file",
        type=Path,
        metavar="FILE",
        help="serve only whoever shows a certificate of this authority: the API server",
    )
    return parser


class _Server(uvicorn.Server):
    """uvicorn, which leaves the signals to the process: it is cancelled with everything else."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _add_to(manager: Manager, arguments: argparse.Namespace) -> None:
    scraper = Scraper(manager, arguments.metric_resolution)
    application = Application(scraper, manager.clock, lambda: manager.is_ready)
    listening = socket.create_server((_HOST, arguments.port))
    address = f"{_HOST}:{listening.getsockname()[1]}"
    is_secure = arguments.tls_cert_file is not None
    ca_bundle = base64.b64encode(arguments.ca_file.read_bytes()).decode() if arguments.ca_file else ""

    async def serve() -> None:
        await _Server(_config(application, arguments)).serve(sockets=[listening])

    async def register() -> None:
        await stand_for(manager.api, address if is_secure else f"http://{address}", ca_bundle)

    manager.add_task("metrics: serve", serve)
    manager.add_task("metrics: register", register)


def _config(application: Application, arguments: argparse.Namespace) -> uvicorn.Config:
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    client_ca = arguments.requestheader_client_ca_file
    return uvicorn.Config(
        application,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
        ssl_certfile=arguments.tls_cert_file,
        ssl_keyfile=arguments.tls_private_key_file,
        ssl_ca_certs=str(client_ca) if client_ca else None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if client_ca else ssl.CERT_NONE,
    )


if __name__ == "__main__":
    sys.exit(main())
