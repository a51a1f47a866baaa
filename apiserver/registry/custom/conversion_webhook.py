"""Strategy Webhook: objects of a definition are converted by whoever its `spec.conversion.webhook` names.

One call converts many objects. What it is sent and may answer stands in `conversion_review.py`, how it is reached in
`apiserver.webhooks`, and who asks, and how little, in `versioning.py` and `shown_objects.py`.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Sequence
from typing import Protocol

from apiserver.registry.custom.conversion_metrics import ConversionMetrics
from apiserver.registry.custom.conversion_review import (
    CALL,
    ConversionFailure,
    converted_objects,
    review_of,
    shown_kind,
)
from apiserver.webhooks.errors import WebhookError
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.names import new_uid

TIMEOUT_SECONDS = 30.0


class Client(Protocol):
    """`apiserver.webhooks.client.WebhookClient`."""

    async def post(self, config: ReadOnlyObject, review: ReadOnlyObject, timeout_seconds: float) -> Object: ...


class ConversionWebhooks:
    """Makes the converter of a definition that has a webhook."""

    def __init__(
        self, client: Client, rng: random.Random, monotonic: Callable[[], float], metrics: ConversionMetrics
    ) -> None:
        self.client, self.rng, self.monotonic, self.metrics = client, rng, monotonic, metrics

    def converter_of(self, definition: ReadOnlyObject) -> ConversionWebhook:
        return ConversionWebhook(definition, self)


class ConversionWebhook:
    """Of one definition. Implements `versioning.Converter`."""

    def __init__(self, definition: ReadOnlyObject, given: ConversionWebhooks) -> None:
        webhook = definition["spec"]["conversion"]["webhook"]
        self._definition: str = definition["metadata"]["name"]
        self._config: ReadOnlyObject = _client(webhook["clientConfig"])
        self._review_versions: Sequence[str] = webhook["conversionReviewVersions"]
        self._given = given

    async def convert(self, objects: Sequence[Object], to_version: str) -> list[Object]:
        """Whole objects of one version in another. ApiError, a 500 with upstream's text, where that fails."""
        if all(obj.keys() == {"kind", "apiVersion"} for obj in objects):
            return [{**obj, "apiVersion": to_version} for obj in objects]  # nothing in it to be converted
        metrics, began, succeeded = self._given.metrics, self._given.monotonic(), False
        try:
            converted = await self._asked(objects, to_version)
            metrics.called(self._given.monotonic() - began)
            succeeded = True
        except ConversionFailure as failure:
            metrics.called(self._given.monotonic() - began, failure.kind)
            raise ApiError(str(failure), code=500) from failure
        finally:
            seconds = self._given.monotonic() - began
            metrics.converted(self._definition, objects[0]["apiVersion"], to_version, seconds, succeeded=succeeded)
        return converted

    async def _asked(self, objects: Sequence[Object], to_version: str) -> list[Object]:
        review = review_of(objects, to_version, self._review_versions, new_uid(self._given.rng))
        try:
            answer = await self._given.client.post(self._config, review, TIMEOUT_SECONDS)
        except WebhookError as error:
            why = f"conversion webhook for {shown_kind(objects[0])} failed: {error}"
            raise ConversionFailure(why, CALL) from error
        return converted_objects(answer, review)


def _client(config: ReadOnlyObject) -> ReadOnlyObject:
    """A bundle of nothing but white space is as good as none."""
    bundle = config.get("caBundle")
    if bundle and not base64.b64decode(bundle).strip():
        return {name: value for name, value in config.items() if name != "caBundle"}
    return config
