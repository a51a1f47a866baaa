"""Why a webhook could not be called, or answered nothing of use."""

from __future__ import annotations

SERVICE_UNAVAILABLE = 503


class WebhookError(Exception):
    """A call that came to nothing; the text is the one Go's client has for it.

    `code` is what the webhook answered with, 503 where it did not answer: metrics count by it.
    """

    def __init__(self, text: str, code: int = SERVICE_UNAVAILABLE) -> None:
        super().__init__(text)
        self.code = code


class UnusableClient(WebhookError):
    """A clientConfig from which no client can be made: nobody was called."""
