"""What `kubeloop status` says of a stack."""

from __future__ import annotations

import socket
from pathlib import Path

from kubeloop.cli.down import status
from kubeloop.cli.state import StackState, own_state


def test_a_stack_whose_server_refuses_connections_is_not_ready(tmp_path: Path) -> None:
    """After the API server was killed, clients are refused until it listens again; status says no other."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = f"http://127.0.0.1:{listening.getsockname()[1]}"
        StackState(server, own_state("supervisor"), ready=True).save(tmp_path)
        assert status(tmp_path)["ready"]

    assert not status(tmp_path)["ready"]
