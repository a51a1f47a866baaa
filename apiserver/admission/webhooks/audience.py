"""Who is asked about a write: the webhooks whose rules, selectors and conditions it meets."""

from __future__ import annotations

from apiserver.admission.chain import Attributes
from apiserver.admission.forms import Forms
from apiserver.admission.webhooks.configurations import Webhook
from apiserver.admission.webhooks.invocation import Invocation, Matcher, name_of_request
from apiserver.admission.webhooks.views import Views
from apiserver.auth.authorization import Authorizer
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import Forbidden


class Audience:
    def __init__(self, reader: Reader, forms: Forms, authorizer: Authorizer) -> None:
        self._reader, self._forms, self._authorizer = reader, forms, authorizer
        self._matcher = Matcher(reader, forms)

    def views(self, attributes: Attributes) -> Views:
        return Views(attributes, self._forms)

    async def invocation(self, webhook: Webhook, attributes: Attributes) -> Invocation | None:
        """How to ask a webhook, None where it is not to be asked. Forbidden where its conditions cannot be told."""
        invocation = self._matcher.invocation(webhook, attributes)
        if invocation is None or webhook.conditions is None:
            return invocation
        from apiserver.admission.policies.activation import Activations
        from apiserver.admission.policies.conditions import ConditionError

        activations = Activations(attributes, self._reader, self._forms, self._authorizer)
        activation = await activations.of(invocation.resource)
        try:
            return invocation if webhook.conditions.hold(activation) else None
        except ConditionError as error:
            if webhook.ignores_failures:
                return None
            resource = attributes.resource
            name = name_of_request(attributes)
            raise Forbidden.of(resource.plural, resource.group, name, str(error)) from error
