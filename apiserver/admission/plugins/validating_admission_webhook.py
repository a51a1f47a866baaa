"""ValidatingAdmissionWebhook: webhooks that may refuse a write, all asked at once.

Facts: k8s.io/apiserver/pkg/admission/plugin/webhook/validating (v1.36). Without configurations it costs a look into an
empty list. Nothing is locked while webhooks are awaited, and they may call this server back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from apiserver.admission.chain import CONNECT, CREATE, DELETE, UPDATE, Attributes, Plugin
from apiserver.admission.forms import Forms
from apiserver.admission.webhooks.asking import Asker
from apiserver.admission.webhooks.audience import Audience
from apiserver.admission.webhooks.configurations import VALIDATING, Configurations, Webhook
from apiserver.admission.webhooks.invocation import Invocation, is_exempt
from apiserver.admission.webhooks.outcome import CallFailed, Denied
from apiserver.admission.webhooks.views import Views
from apiserver.auth.authorization import Authorizer
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import ApiError

_FAILED_OPEN = "failed-open.validating.webhook.admission.k8s.io/round_0_index_"


class ValidatingAdmissionWebhook(Plugin):
    operations = frozenset({CREATE, UPDATE, DELETE, CONNECT})

    def __init__(self, reader: Reader, forms: Forms, authorizer: Authorizer, asker: Asker) -> None:
        self._configurations = Configurations(reader, VALIDATING)
        self._audience, self._asker = Audience(reader, forms, authorizer), asker

    async def validate(self, attributes: Attributes) -> None:
        webhooks = self._configurations.webhooks()
        if not webhooks or is_exempt(attributes):
            return
        views = self._audience.views(attributes)
        invocations = await self._invocations(webhooks, attributes, views)
        if not invocations:
            return
        for refusal in await self._ask_all(invocations, attributes, views):
            if refusal is not None:
                raise refusal

    async def _invocations(
        self, webhooks: Sequence[Webhook], attributes: Attributes, views: Views
    ) -> Sequence[Invocation]:
        found = []
        for webhook in webhooks:
            invocation = await self._audience.invocation(webhook, attributes)
            if invocation is not None:
                await views.shown(invocation.kind)  # now, lest several do the same at once
                found.append(invocation)
        return found

    async def _ask_all(
        self, invocations: Sequence[Invocation], attributes: Attributes, views: Views
    ) -> Sequence[ApiError | None]:
        """What each has against the write, in the order of the webhooks."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._ask(i, invocation, attributes, views))
                for i, invocation in enumerate(invocations)
            ]
        return [task.result() for task in tasks]

    async def _ask(self, index: int, invocation: Invocation, attributes: Attributes, views: Views) -> ApiError | None:
        webhook, began = invocation.webhook, self._asker.now()
        outcome: CallFailed | Denied | ApiError | None = None
        try:
            shown = await views.shown(invocation.kind)
            await self._asker.ask(invocation, attributes, shown.object, shown.old_object)
        except (CallFailed, Denied, ApiError) as error:
            outcome = error
        self._asker.count(webhook, attributes.operation, began, outcome)
        if isinstance(outcome, CallFailed) and webhook.ignores_failures:
            self._asker.fail_open(webhook, outcome)
            attributes.annotate(f"{_FAILED_OPEN}{index}", webhook.name)
            return None
        return None if outcome is None else self._asker.refusal(webhook, outcome)
