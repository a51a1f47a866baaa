"""Answers of a server that are no Status, in the words in which users know them (client-go's)."""

from __future__ import annotations

from kubeloop.apimachinery.errors import ApiError

_WORDS = {
    "404 page not found": "the server could not find the requested resource",
    "service unavailable": "the server is currently unable to handle the request",
}


def in_words(error: ApiError, request: str = "") -> str:
    """`request`: what was asked for (`get pods.metrics.k8s.io`), told where the answer itself does not say."""
    words = _WORDS.get(error.message.strip())
    if words is None:
        return error.message
    return f"{words} ({request})" if request else words
