"""An example operator as a process of its own, with its ServiceAccount's rights and no others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kubeloop.cli.kubeconfig_file import Login
from tests.testkit.stack import Stack, running


def kubeconfig_of(stack: Stack, namespace: str, account: str, folder: Path) -> Path:
    """A file by which its user is that ServiceAccount, at a stack with --secure."""
    token = stack.kubectl(f"--namespace={namespace} create token {account}").strip()
    ca = (stack.data_dir / "pki" / "ca.crt").read_text()
    kubeconfig = folder / f"{account}.kubeconfig"
    kubeconfig.write_text(Login(stack.server, token=token, ca=ca).kubeconfig(account))
    return kubeconfig


@contextmanager
def operator(
    stack: Stack, name: str, namespace: str, account: str, folder: Path, flags: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    """`python -m examples.operators.NAME` at a stack with --secure; what it logs is in `folder`.

    The Lease of one that was killed is taken away, instead of waiting until it has run out: one that runs out soon
    enough for a test is lost by a process that gets no core for a moment.
    """
    kubeconfig = kubeconfig_of(stack, namespace, account, folder)
    stack.kubectl(f"--namespace={namespace} delete leases --all")
    command = (sys.executable, "-m", f"examples.operators.{name}", f"--kubeconfig={kubeconfig}", *flags)
    with (folder / f"{account}.log").open("a") as log, running(*command, output=log.fileno()) as process:
        yield process
