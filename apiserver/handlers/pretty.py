"""Indented JSON for people: `?pretty=true`, `Accept: application/json;pretty=1`, and tools that show what they get."""

from __future__ import annotations

from dataclasses import replace

import orjson

from apiserver.handlers.negotiation import JSON
from apiserver.handlers.request import parse_query
from apiserver.handlers.response import Response, Scope

# The User-Agents of those who read an answer as it is.
_TOOLS = (b"curl", b"Wget", b"Mozilla/5.0")
_TRUE = ("1", "t", "T", "true", "TRUE", "True")


def wants_pretty(scope: Scope) -> bool:
    """Whether this client is to get indented JSON. For all others this costs one look through the headers."""
    query: bytes = scope["query_string"]
    asked = (parse_query(query).get("pretty") or [""])[0] if b"pretty" in query else ""
    for name, value in scope["headers"]:
        if name == b"user-agent" and not asked and value.startswith(_TOOLS):
            return True
        if name == b"accept" and b"pretty=1" in value:
            return True
    return asked in _TRUE


def pretty(response: Response) -> Response:
    """The answer with its JSON indented; any other answer as it is."""
    if response.content_type.partition(";")[0] != JSON or not response.body:
        return response
    try:
        value = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return response  # a number that only Go can read stays as it is spelled
    return replace(response, body=orjson.dumps(value, option=orjson.OPT_INDENT_2))
