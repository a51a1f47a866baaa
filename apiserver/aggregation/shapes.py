"""The shape of an APIVersionDiscovery, held against what somebody else's server sends.

What passes here stands in the one document that every client reads first. A field of another type in it, and kubectl
can decode none of it, whatever group it is after: such an answer counts as none. Fields that nobody knows are left out.
"""

from __future__ import annotations

from typing import Any

from kubeloop.apimachinery.meta import Object

# A type, a list with the shape of its elements, or fields with theirs.
Shape = type[str] | list[Any] | dict[str, Any]

_KIND: Shape = {"group": str, "version": str, "kind": str}
_SUBRESOURCE: Shape = {"subresource": str, "responseKind": _KIND, "acceptedTypes": [_KIND], "verbs": [str]}
_RESOURCE: Shape = {
    "resource": str,
    "responseKind": _KIND,
    "scope": str,
    "singularResource": str,
    "verbs": [str],
    "shortNames": [str],
    "categories": [str],
    "subresources": [_SUBRESOURCE],
}
_VERSION: Shape = {"version": str, "resources": [_RESOURCE]}


def version_entry(said: Any) -> Object:
    """Its known fields but for the freshness, which is this server's to tell. TypeError where one is misshapen."""
    entry: Object = _shaped(said, _VERSION)
    return entry


def _shaped(value: Any, shape: Shape) -> Any:
    if isinstance(shape, list):
        return [_shaped(one, shape[0]) for one in _of_type(value, list)]
    if isinstance(shape, dict):
        fields = _of_type(value, dict)
        return {name: _shaped(fields[name], of) for name, of in shape.items() if fields.get(name) is not None}
    return _of_type(value, shape)


def _of_type(value: Any, wanted: type[Any]) -> Any:
    if not isinstance(value, wanted):
        raise TypeError(f"{value!r:.100} is no {wanted.__name__}")
    return value
