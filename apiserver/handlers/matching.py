"""What a patch makes must be the object the URL names."""

from __future__ import annotations

from kubeloop.apimachinery.errors import BadRequest
from kubeloop.apimachinery.meta import Object


def match_name(new: Object, name: str, namespace: str) -> None:
    """BadRequest where a patched object has another name or namespace, or no name; a namespace is filled in."""
    match_namespace(new, namespace)
    metadata = new["metadata"]
    if not metadata.get("name"):
        raise BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if metadata["name"] != name:
        raise BadRequest(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")


def match_namespace(new: Object, namespace: str) -> None:
    """BadRequest where an object is of another namespace than the URL; what has none is given that one."""
    metadata = new.setdefault("metadata", {})
    if not namespace:
        metadata.pop("namespace", None)
    elif (metadata.get("namespace") or namespace) != namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    else:
        metadata["namespace"] = namespace
