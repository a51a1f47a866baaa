"""`kubeloop why` on a running stack."""

from __future__ import annotations

import json

import pytest

from tests.testkit.command import kubeloop
from tests.testkit.stack import Kubectl, Stack

pytestmark = pytest.mark.e2e


def test_what_is_said_to_help_helps(stack: Stack, kubectl: Kubectl) -> None:
    """The command that is told lets the stuck pod be scheduled."""
    kubectl('run stuck --image=nginx --overrides={"spec":{"nodeSelector":{"disk":"ssd"}}}')
    flags = ("-n", kubectl.namespace, f"--kubeconfig={stack.kubectl.kubeconfig}")

    told = json.loads(kubeloop("why", "pod/stuck", *flags, "-o", "json").stdout)
    (change,) = told["remedies"][0]["changes"]
    kubectl(change["command"].removeprefix("kubectl "))
    kubectl("wait --for=condition=Ready pod/stuck --timeout=180s")
    text = kubeloop("why", "stuck", *flags).stdout

    assert not told["schedulable"]
    assert f"is on {told['remedies'][0]['nodeName']}." in text
    kubectl(f"label node {told['remedies'][0]['nodeName']} disk-")


def test_a_pod_that_is_not_there_is_told(stack: Stack) -> None:
    done = kubeloop("why", "pod/nobody", "-n", "default", f"--kubeconfig={stack.kubectl.kubeconfig}")

    assert (1, 'error: pods "nobody" not found') == (done.returncode, done.stderr.strip())
