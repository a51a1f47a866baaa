"""Objects without metadata.managedFields: half of a pod, half of what decoding it costs, and of no use to a loop.

kube-controller-manager keeps none in its caches either. An update that carries none leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from kubeloop.apimachinery.meta import Object

_FIELDS = b'"managedFields":[{'
_MARK = b'"managedFields":0'


def object_unmanaged(text: bytes) -> Any:
    """The object in a JSON text, as an answer is. Raises JSONDecodeError."""
    return _decoded(text, lambda obj: obj)


def event_unmanaged(line: bytes) -> Any:
    """The event in a line of a watch. Raises JSONDecodeError."""
    return _decoded(line, lambda event: event["object"])


def drop(obj: Object) -> None:
    if obj.get("metadata"):
        obj["metadata"].pop("managedFields", None)


def _decoded(text: bytes, object_of: Callable[[Any], Any]) -> Any:
    """They are cut out undecoded, up to the first "}]", and a mark takes their place.

    Was that the end of something else, then more brackets were opened than closed, or a string was cut in two and what
    follows has an odd number of quotes: either is no JSON. Were they not those of the object, the mark is not where it
    belongs. Then everything is decoded.
    """
    begin = text.find(_FIELDS)
    end = text.find(b"}]", begin) if begin >= 0 else -1
    if end >= 0:
        try:
            found = orjson.loads(b"%b%b%b" % (text[:begin], _MARK, text[end + 2 :]))
            if object_of(found)["metadata"].pop("managedFields") == 0:
                return found
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
            pass  # as above
    found = orjson.loads(text)
    drop(object_of(found))
    return found
