"""What `kubeloop status` says of a stack."""

from __future__ import annotations

import socket
from pathlib import Path

from kubeloop.cli.down import status
from kubeloop.cli.state import StackState, own_state


def test_a_stack_whose_server_refuses_connections_is_not_ready(tmp_path: Path) -> None:
    """After the API server was killed, clients are refused until it listens again; status says no other."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))  # nobody else gets the port, and nobody listens there yet
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        StackState(address, own_state("supervisor"), ready=True).save(tmp_path)
        assert not status(tmp_path)["ready"]

        server.listen()
        assert status(tmp_path)["ready"]
