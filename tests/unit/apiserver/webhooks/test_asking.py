"""What cannot be brought about through the API any more, but may stand in storage."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, Attributes
from apiserver.admission.plugins.validating_admission_webhook import ValidatingAdmissionWebhook
from apiserver.admission.webhooks.asking import Asker
from apiserver.admission.webhooks.configurations import VALIDATING
from apiserver.admission.webhooks.metrics import WebhookMetrics
from apiserver.auth.authorization import AlwaysAllow
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CONFIG_MAPS
from tests.testkit.forms import FORMS
from tests.testkit.reader import DictReader, InstantClock
from tests.testkit.webhooks import a_webhook


class Nobody:
    """A caller that must not be needed."""

    async def post(self, config: Any, review: Any, timeout_seconds: float) -> Object:
        raise AssertionError("nobody is to be called")


def refusal(webhook: Object, *, dry_run: bool = False) -> ApiError:
    configuration = {"metadata": {"name": "v", "resourceVersion": "1"}, "webhooks": [webhook]}
    reader = DictReader().put(VALIDATING, configuration)
    asker = Asker(Nobody(), FORMS, InstantClock(), random.Random(1), WebhookMetrics(), mutating=False)
    plugin = ValidatingAdmissionWebhook(reader, FORMS, AlwaysAllow(), asker)
    attributes = Attributes(CREATE, CONFIG_MAPS, "ns", "c", {"metadata": {"name": "c"}}, dry_run=dry_run)
    with pytest.raises(ApiError) as caught:
        asyncio.run(plugin.validate(attributes))
    return caught.value


def test_a_webhook_with_side_effects_refuses_a_dry_run() -> None:
    """Nobody can say what it would have said, whatever its failurePolicy."""
    error = refusal(a_webhook("v", sideEffects="Some", failurePolicy="Ignore"), dry_run=True)
    assert (error.code, error.message) == (400, 'admission webhook "v.example.com" does not support dry run')


def test_a_webhook_that_speaks_no_version_known_here_cannot_be_asked() -> None:
    """That is a failure of the call."""
    error = refusal(a_webhook("v", admissionReviewVersions=["v2"]))
    why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
    assert error.message == (
        f'Internal error occurred: failed calling webhook "v.example.com": could not create admission objects: {why}'
    )
