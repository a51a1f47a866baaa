"""Ports for stacks that are thrown away."""

from __future__ import annotations

import socket
import sys

import pytest

from kubeloop.cli.throwaway import free_port


@pytest.mark.skipif(sys.platform != "linux", reason="what a bound socket keeps from whom differs elsewhere")
def test_a_free_port_is_only_for_who_asks_for_it() -> None:
    """Until somebody listens there connections are refused, and whoever wants any port is not given this one."""
    port = free_port()
    with socket.socket() as anybody, pytest.raises(OSError, match="Address already in use"):
        anybody.bind(("127.0.0.1", port))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))

    for _ in range(2):
        with socket.create_server(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)):
            pass
