"""MutatingAdmissionWebhook: webhooks that may change a write or refuse it, asked one after the other.

Facts: k8s.io/apiserver/pkg/admission/plugin/webhook/mutating (v1.36). Each sees what those before it made of the
object. Where one changed it, the chain runs once more, and those with reinvocationPolicy IfNeeded are asked again.
Without configurations it costs a look into an empty list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from apiserver.admission.chain import CONNECT, CREATE, DELETE, PATCH_ANNOTATION, UPDATE, Attributes, Plugin
from apiserver.admission.forms import Forms
from apiserver.admission.webhooks.asking import Asker
from apiserver.admission.webhooks.audience import Audience
from apiserver.admission.webhooks.configurations import MUTATING, Configurations, Webhook
from apiserver.admission.webhooks.invocation import Invocation, is_exempt
from apiserver.admission.webhooks.outcome import CallFailed, Denied
from apiserver.admission.webhooks.patching import apply_patch, operations_of
from apiserver.admission.webhooks.review import JSON_PATCH
from apiserver.admission.webhooks.views import Views
from apiserver.auth.authorization import Authorizer
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object, deep_copy

NAME = "MutatingAdmissionWebhook"
_MUTATION = "mutation.webhook.admission.k8s.io/"


@dataclass(slots=True)
class _Rounds:
    """What is remembered from the first run of the chain for the second (webhookReinvokeContext)."""

    output: Object | None = None  # the object as the webhooks left it
    invoked: set[str] = field(default_factory=set)  # those to be asked again should the object change
    again: set[str] = field(default_factory=set)  # those for which it did

    def object_changed(self) -> None:
        self.again |= self.invoked
        self.invoked.clear()


class MutatingAdmissionWebhook(Plugin):
    operations = frozenset({CREATE, UPDATE, DELETE, CONNECT})

    def __init__(self, reader: Reader, forms: Forms, authorizer: Authorizer, asker: Asker) -> None:
        self._configurations = Configurations(reader, MUTATING)
        self._audience, self._asker = Audience(reader, forms, authorizer), asker

    async def admit(self, attributes: Attributes) -> None:
        webhooks = self._configurations.webhooks()
        if not webhooks or is_exempt(attributes):
            return
        reinvocation = attributes.reinvocation
        rounds: _Rounds = reinvocation.notes.setdefault(NAME, _Rounds())
        if reinvocation.is_second and rounds.output != attributes.object:
            rounds.object_changed()
        views = self._audience.views(attributes)
        for index, webhook in enumerate(webhooks):
            invocation = await self._audience.invocation(webhook, attributes)
            if invocation is None or (reinvocation.is_second and webhook.uid not in rounds.again):
                continue
            if await self._ask(index, invocation, attributes, views):
                rounds.object_changed()
                reinvocation.wanted = True
            if webhook.source.get("reinvocationPolicy") == "IfNeeded":
                rounds.invoked.add(webhook.uid)
        rounds.output = deep_copy(attributes.object) if attributes.object is not None else None

    async def _ask(self, index: int, invocation: Invocation, attributes: Attributes, views: Views) -> bool:
        """Whether the webhook changed the object; raises its refusal."""
        webhook, began = invocation.webhook, self._asker.now()
        where = f"round_{int(attributes.reinvocation.is_second)}_index_{index}"
        changed = False
        outcome: CallFailed | Denied | ApiError | None = None
        try:
            changed = await self._change(where, invocation, attributes, views)
        except (CallFailed, Denied, ApiError) as error:
            outcome = error
        self._asker.count(webhook, attributes.operation, began, outcome)
        attributes.annotate(f"{_MUTATION}{where}", _annotation(webhook, mutated=changed))
        if isinstance(outcome, CallFailed) and webhook.ignores_failures:
            self._asker.fail_open(webhook, outcome)
            attributes.annotate(f"failed-open.{_MUTATION}{where}", webhook.name)
        elif outcome is not None:
            raise self._asker.refusal(webhook, outcome)
        return changed

    async def _change(self, where: str, invocation: Invocation, attributes: Attributes, views: Views) -> bool:
        shown = await views.shown(invocation.kind)
        answer = await self._asker.ask(invocation, attributes, shown.object, shown.old_object)
        operations = operations_of(answer.patch, invocation.webhook.name) if answer.patch else ()
        if not operations:
            return False
        changed = await apply_patch(operations, answer, invocation, views)
        patch = [dict(sorted(operation.items())) for operation in operations]
        said = _annotation(invocation.webhook, patch=patch, patchType=JSON_PATCH)
        attributes.annotate(f"{PATCH_ANNOTATION}{where}", said)
        return changed


def _annotation(webhook: Webhook, **more: Any) -> str:
    return orjson.dumps({"configuration": webhook.configuration, "webhook": webhook.name, **more}).decode()
