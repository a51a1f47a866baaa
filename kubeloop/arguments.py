"""Command lines of the processes: a wrong flag is one line and exit code 1, as with Kubernetes' own components."""

from __future__ import annotations

import argparse
from typing import NoReturn

from kubeloop.apimachinery.releases import release


class Arguments(argparse.ArgumentParser):
    """argparse, which would print its usage over the reason and end with 2. Flags may not be abbreviated."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"error: {message} (see --help)\n")


def release_of(text: str) -> str:
    """The type of --kubernetes-version."""
    try:
        return release(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
