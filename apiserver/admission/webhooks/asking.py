"""Asking one webhook: the question goes out, the answer comes back checked, and both are counted.

Shared by the mutating and the validating plugin, which differ in what an answer does.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Protocol

import structlog

from apiserver.admission.chain import Attributes
from apiserver.admission.forms import Forms
from apiserver.admission.webhooks import metrics as counted
from apiserver.admission.webhooks import review
from apiserver.admission.webhooks.configurations import Webhook
from apiserver.admission.webhooks.invocation import Invocation
from apiserver.admission.webhooks.metrics import WebhookMetrics
from apiserver.admission.webhooks.outcome import CallFailed, Denied, dry_run_unsupported
from apiserver.admission.webhooks.review import Answer, ReviewError
from apiserver.webhooks.errors import UnusableClient, WebhookError
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, InternalError
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.names import new_uid

log = structlog.get_logger("apiserver")

Json = Mapping[str, Any]

DEFAULT_TIMEOUT_SECONDS = 10
_BAD_REQUEST, _INTERNAL, _OK = 400, 500, 200


class Caller(Protocol):
    """What the plugins need of `apiserver.webhooks.client.WebhookClient`."""

    async def post(self, config: Json, review: Json, timeout_seconds: float) -> Object: ...


class Asker:
    """Asks webhooks of one kind; `step` is theirs in metrics."""

    def __init__(
        self,
        caller: Caller,
        forms: Forms,
        clock: Clock,
        rng: random.Random,
        metrics: WebhookMetrics,
        *,
        mutating: bool,
    ) -> None:
        self._caller, self._forms, self._clock, self._rng = caller, forms, clock, rng
        self.metrics, self._mutating = metrics, mutating
        self.step = counted.ADMIT if mutating else counted.VALIDATING

    async def ask(
        self, invocation: Invocation, attributes: Attributes, obj: ReadOnlyObject | None, old: ReadOnlyObject | None
    ) -> Answer:
        """A webhook's yes. Raises Denied, CallFailed, or an ApiError where the server could not even ask.

        `obj` and `old` are as the webhook is to see them. Its warnings and audit annotations reach the client and the
        audit log, also with a no.
        """
        webhook = invocation.webhook
        if attributes.dry_run and webhook.source.get("sideEffects") not in ("None", "NoneOnDryRun"):
            raise dry_run_unsupported(webhook.name)
        answer = await self._answer(invocation, attributes, obj, old)
        for key, value in answer.annotations.items():
            attributes.annotate(f"{webhook.name}/{key}", value)
        for text in answer.warnings:
            attributes.warn(text)
        if not answer.allowed:
            raise Denied(webhook.name, answer.status)
        return answer

    async def _answer(
        self, invocation: Invocation, attributes: Attributes, obj: ReadOnlyObject | None, old: ReadOnlyObject | None
    ) -> Answer:
        webhook = invocation.webhook
        version = review.version_of(webhook.source)
        if not version:
            why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise CallFailed(webhook.name, f"could not create admission objects: {why}", _BAD_REQUEST)
        uid = new_uid(self._rng)
        request_kind = self._forms.taken_by(attributes.resource, attributes.subresource)
        question = review.question(uid, version, invocation, attributes, request_kind, obj, old)
        timeout = webhook.source.get("timeoutSeconds") or DEFAULT_TIMEOUT_SECONDS
        try:
            answered = await self._caller.post(webhook.source.get("clientConfig") or {}, question, timeout)
            review.check_types(answered)
        except UnusableClient as error:
            raise CallFailed(webhook.name, f"could not get REST client: {error}", _INTERNAL) from error
        except (WebhookError, ReviewError) as error:
            code = error.code if isinstance(error, WebhookError) else WebhookError("").code
            raise CallFailed(webhook.name, f"failed to call webhook: {error}", code) from error
        try:
            return review.answer_in(answered, uid, version, mutating=self._mutating)
        except ReviewError as error:
            why = f"received invalid webhook response: {error}"
            raise CallFailed(webhook.name, why, WebhookError("").code) from error

    def count(
        self, webhook: Webhook, operation: str, began: float, outcome: CallFailed | Denied | ApiError | None
    ) -> None:
        """Note how a webhook was asked since `began` (the clock's monotonic), and how that ended."""
        rejected, code = outcome is not None, _OK
        if isinstance(outcome, CallFailed):
            rejected, code = not webhook.ignores_failures, outcome.code
            if rejected:
                self.metrics.rejected(webhook.name, self.step, operation, counted.CALLING_ERROR, code)
        elif isinstance(outcome, Denied):
            code = outcome.refusal.code
            self.metrics.rejected(webhook.name, self.step, operation, counted.NO_ERROR, code)
        elif outcome is not None:
            code = 0
            self.metrics.rejected(webhook.name, self.step, operation, counted.SERVER_ERROR, code)
        seconds = self._clock.monotonic() - began
        self.metrics.called(webhook.name, self.step, operation, seconds, code, rejected=rejected)

    def fail_open(self, webhook: Webhook, failure: CallFailed) -> None:
        """Note a failure that the webhook's policy ignores."""
        log.warning("failed calling webhook, failing open", webhook=webhook.name, error=str(failure))
        self.metrics.failed_open(webhook.name, self.step)

    def refusal(self, webhook: Webhook, outcome: CallFailed | Denied | ApiError) -> ApiError:
        """What the client is told of an outcome that refuses the write."""
        if isinstance(outcome, CallFailed):
            log.warning("failed calling webhook, failing closed", webhook=webhook.name, error=str(outcome))
            return InternalError.because(str(outcome))
        return outcome.refusal if isinstance(outcome, Denied) else outcome

    def now(self) -> float:
        return self._clock.monotonic()
