"""`python -m kubeloop.cli`."""

from kubeloop.cli.main import run

run()
