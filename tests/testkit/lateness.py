"""The tests' stacks as slow and late ones, where the environment asks for it: `make test-late`."""

from __future__ import annotations

import os
from dataclasses import replace

from kubeloop.cli.options import UpOptions

ASKED = "KUBELOOP_TEST_LATE"
API_SERVER = ("--late-answers=100ms", "--late-watches=400ms")
KUBELETS = ("--image-pull-seconds=4",)


def is_asked() -> bool:
    return os.environ.get(ASKED, "") not in ("", "0")


def api_server_flags() -> tuple[str, ...]:
    """For an API server by itself."""
    return API_SERVER if is_asked() else ()


def late(options: UpOptions) -> UpOptions:
    """The same stack, but late; what the options themselves say of that wins."""
    return replace(
        options,
        apiserver_args=(*API_SERVER, *options.apiserver_args),
        kubelet_args=(*KUBELETS, *options.kubelet_args),
    )
