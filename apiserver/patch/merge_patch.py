"""JSON merge patch (RFC 7386), `application/merge-patch+json`: objects are merged, null deletes, all else replaces.

Called by the store with the object as the API shows it. As the real server does it (evanphx/json-patch v4), which
differs from the RFC in one thing: from lists that replace something other than an object, members that are null vanish
from the objects in them.
"""

from __future__ import annotations

from typing import Any

from apiserver.patch.values import go_type, without_nulls
from kubeloop.apimachinery.errors import BadRequest
from kubeloop.apimachinery.meta import Object, deep_copy

NO_PATCH = "Invalid JSON Patch"


def apply(document: Object, patch: Any, *, is_lenient: bool = False) -> Any:
    """`document` with `patch` merged in; neither is changed. BadRequest where the patch is no object.

    `is_lenient`: without field validation nobody has looked at the patch before, and a list replaces the document.
    """
    if patch is None:
        raise BadRequest(NO_PATCH)
    if not isinstance(patch, dict):
        if is_lenient and isinstance(patch, list):
            return without_nulls(patch)
        if is_lenient:
            raise BadRequest(NO_PATCH)
        kind = "array" if isinstance(patch, list) else _json_type(patch)
        raise BadRequest(
            f"error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        )
    return _merged(document, patch)


def _merged(document: Object, patch: Object) -> Object:
    result = dict(document)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged_value(result.get(key), value)
    return result


def _merged_value(current: Any, patch: Any) -> Any:
    if not isinstance(current, dict):
        return without_nulls(patch)
    return _merged(current, patch) if isinstance(patch, dict) else deep_copy(patch)


def _json_type(value: Any) -> str:
    return {"bool": "bool", "string": "string"}.get(go_type(value), "number")
