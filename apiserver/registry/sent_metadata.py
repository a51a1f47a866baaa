"""What writers say in an object's metadata against what only the server says: names, versions and its own fields.

The store calls these on every write, before and after admission.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubeloop.apimachinery.errors import STALE, ApiError, BadRequest, Conflict, Invalid
from kubeloop.apimachinery.field import invalid
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.numbers import NumError, parse_uint
from kubeloop.apimachinery.resource import Resource

DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")  # a POST may not say them


def match_namespace(obj: Object, resource: Resource, namespace: str) -> None:
    """The object lies in the namespace of the request, or in none; BadRequest where it says another."""
    metadata = obj.setdefault("metadata", {})
    if not resource.namespaced:
        metadata.pop("namespace", None)
        return
    if metadata.get("namespace", namespace) != namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


def drop_system_fields(obj: Object, more: Sequence[str] = ()) -> None:
    """What a creator may not set, and admission does not see either."""
    for field in ("uid", "creationTimestamp", "selfLink", *more):
        obj["metadata"].pop(field, None)


def match_name(obj: Object, name_in_url: str) -> None:
    """BadRequest where a PUT replaces another object than its URL names."""
    name = obj["metadata"].get("name", "")
    if not name:
        where = f"the name of the object ({name_in_url} based on URL)"
        raise BadRequest(f"{where} was undeterminable: name must be provided")
    if name != name_in_url:
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({name_in_url})")


def version_of(sent: str) -> int:
    """The resourceVersion a new object was sent with; 0 for none, and for what is no number."""
    if not sent:
        return 0
    try:
        return parse_uint(sent)
    except NumError:
        return 0


def check_version(new: Object, old: Object, resource: Resource, *, may_be_unconditional: bool) -> None:
    """Refuse a stale resourceVersion. What a patch says nothing about is the version it is applied to."""
    metadata, old_metadata = new["metadata"], old["metadata"]
    name = old_metadata["name"]
    try:
        version = parse_uint(metadata.get("resourceVersion") or "0")
    except NumError as why:
        raise ApiError(str(why), code=500) from why
    if not version:
        if not may_be_unconditional:
            error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise Invalid.of(resource.plural, resource.group, name, [error])
    elif version != int(old_metadata["resourceVersion"]):
        raise Conflict.of(resource.plural, resource.group, name, STALE)
    metadata["resourceVersion"] = old_metadata["resourceVersion"]


def keep_system_fields(new: Object, old: Object) -> None:
    """What no writer may change or need repeat: it is taken from the stored object."""
    metadata, old_metadata = new["metadata"], old["metadata"]
    metadata.pop("selfLink", None)
    metadata["generation"] = old_metadata.get("generation", 0)
    if not metadata["generation"]:
        del metadata["generation"]
    metadata["creationTimestamp"] = old_metadata["creationTimestamp"]
    metadata["uid"] = metadata.get("uid") or old_metadata["uid"]
    if "deletionTimestamp" in old_metadata:
        metadata["deletionTimestamp"] = old_metadata["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old_metadata:
        metadata.setdefault("deletionGracePeriodSeconds", old_metadata["deletionGracePeriodSeconds"])
