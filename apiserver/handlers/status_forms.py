"""Statuses in YAML, for clients that would rather read that.

What was refused or done is said in JSON first; `KubernetesApi` passes every answer through here on its way out. A
client that accepts neither still gets JSON: what was wrong with a request is not hidden behind what it accepts.
"""

from __future__ import annotations

from dataclasses import replace

import orjson

from apiserver.handlers.encoding import write
from apiserver.handlers.negotiation import JSON, YAML, negotiate_plain
from apiserver.handlers.response import Response, Scope
from kubeloop.apimachinery.errors import NotAcceptable

_STATUS = b'{"kind":"Status"'


def as_accepted(response: Response, scope: Scope) -> Response:
    """A Status in the form the client accepts; any other answer as it is."""
    if response.content_type != JSON or not response.body.startswith(_STATUS):
        return response
    accept = b",".join(value for name, value in scope["headers"] if name == b"accept").decode("latin-1")
    if "yaml" not in accept.lower():
        return response
    try:
        form = negotiate_plain(accept)
    except NotAcceptable:
        return response
    if form.media_type != YAML:
        return response
    return replace(response, body=write(orjson.loads(response.body), form), content_type=form.content_type)
