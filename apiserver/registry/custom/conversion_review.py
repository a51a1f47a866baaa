"""ConversionReviews: what a conversion webhook of a definition is sent, and what its answer has to be. Pure.

Facts and texts: apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go (v1.36). A webhook may change
everything of an object but its metadata, and of that labels and annotations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from apiserver.patch.values import go_type
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, deep_copy
from kubeloop.apimachinery.metadata_validation import annotations_errors, labels_errors

GROUP, KIND = "apiextensions.k8s.io", "ConversionReview"
VERSIONS = ("v1", "v1beta1")

# Kinds of failures, by which metrics count them.
CALL = "conversion_webhook_call_failure"
MALFORMED = "conversion_webhook_malformed_response_failure"
PARTIAL = "conversion_webhook_partial_response_failure"
INVALID_OBJECT = "conversion_webhook_invalid_converted_object_failure"

_EMPTY_RESPONSE: Object = {"uid": "", "convertedObjects": None, "result": {"metadata": {}}}


class ConversionFailure(Exception):
    """Why objects were not converted, in upstream's words; `kind` is what metrics count it as."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


def review_of(objects: Sequence[Object], to_version: str, review_versions: Sequence[str], uid: str) -> Object:
    """The review for whole objects, in the first version of reviews that this server knows."""
    version = next(version for version in review_versions if version in VERSIONS)  # as definitions are validated
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{version}",
        "request": {"uid": uid, "desiredAPIVersion": to_version, "objects": objects},
        "response": _EMPTY_RESPONSE,
    }


def converted_objects(answer: Object, sent: Object) -> list[Object]:
    """The objects of an answer to the review `sent`, checked against those. Raises ConversionFailure."""
    request = sent["request"]
    originals, about = request["objects"], f"conversion webhook for {shown_kind(request['objects'][0])}"
    try:
        found = _objects_in(answer, request["uid"], sent["apiVersion"])
    except ValueError as error:
        raise ConversionFailure(f"{about} failed: {error}", MALFORMED) from error
    if len(found) != len(originals):
        why = f"{about} returned {len(found)} objects, expected {len(originals)}"
        raise ConversionFailure(why, PARTIAL)
    return [
        _checked(obj, original, request["desiredAPIVersion"], about)
        for obj, original in zip(found, originals, strict=True)
    ]


def shown_kind(obj: Object) -> str:
    """As Go prints a GroupVersionKind: `example.com/v1, Kind=Widget`."""
    return f"{obj.get('apiVersion') or '/'}, Kind={obj.get('kind') or ''}"


def _objects_in(answer: Object, uid: str, api_version: str) -> Sequence[Any]:
    """ValueError where the answer says it failed, or is none to this review."""
    response = answer.get("response")
    is_v1 = api_version == f"{GROUP}/v1"  # v1beta1 never was as strict
    if is_v1 and (answer.get("apiVersion"), answer.get("kind")) != (api_version, KIND):
        raise ValueError(f"expected webhook response of {api_version}, Kind={KIND}, got {shown_kind(answer)}")
    if not isinstance(response, dict):
        raise ValueError("no response provided")
    if is_v1 and response.get("uid") != uid:
        raise ValueError(f"expected response.uid={go_quote(uid)}, got {go_quote(_text(response.get('uid')))}")
    result = response.get("result")
    status, message = (_text(result.get(name)) if isinstance(result, dict) else "" for name in ("status", "message"))
    if status != "Success":
        raise ValueError(message or f"response.result.status was '{status}', not 'Success'")
    objects = response.get("convertedObjects")
    return objects if isinstance(objects, list) else ()


def _checked(obj: Any, original: Object, to_version: str, about: str) -> Object:
    try:
        return _with_metadata(_whole(obj), original, to_version)
    except _Refused as refused:
        why = f"{about} returned {refused}" if refused.is_about_webhook else str(refused)
        raise ConversionFailure(why, INVALID_OBJECT) from refused


class _Refused(Exception):
    def __init__(self, text: str, *, is_about_webhook: bool = True) -> None:
        super().__init__(text)
        self.is_about_webhook = is_about_webhook


def _whole(obj: Any) -> Object:
    if not isinstance(obj, dict) or not obj.get("kind"):
        raise _Refused(f"Object 'Kind' is missing in '{orjson.dumps(obj).decode()}'", is_about_webhook=False)
    return obj


def _with_metadata(obj: Object, original: Object, to_version: str) -> Object:
    """The converted object with the metadata of the original, but for labels and annotations."""
    for name, expected, found in (
        ("groupVersion", to_version, _text(obj.get("apiVersion"))),
        ("kind", original["kind"], obj["kind"]),
    ):
        if found != expected:
            raise _Refused(f"invalid object at index 0: invalid {name} (expected {expected}, received {found})")
    before, after = original.get("metadata") or {}, obj.get("metadata")
    sent = after if isinstance(after, dict) else {}
    for field, label in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        was, became = before.get(field, ""), _text(sent.get(field))
        if was != became:
            raise _Refused(f"invalid object: must have the same {label}: {was} != {became}")
    if "metadata" not in obj:
        raise _Refused("invalid metadata: missing metadata in converted object")
    if not isinstance(after, dict):
        raise _Refused(f"invalid metadata: invalid metadata of type {go_type(after)} in converted object")
    metadata = deep_copy(before)
    for field in ("labels", "annotations"):
        value = after.get(field)
        if value is None:
            metadata.pop(field, None)
        else:
            _check_texts(field, value, metadata.get(field) or {})
            metadata[field] = value
    return {**obj, "metadata": metadata}


def _check_texts(field: str, value: Any, before: Mapping[str, str]) -> None:
    if not isinstance(value, dict):
        raise _Refused(f"invalid metadata: invalid metadata.{field} of type {go_type(value)} in converted object")
    for key, text in value.items():
        if not isinstance(text, str):
            why = f"metadata.{field}[{key}] must be a string, but is {go_type(text)} in converted object"
            raise _Refused(f"invalid metadata: {why}")
    if value == before:
        return
    # The path of annotations has no s in the real server.
    errors = (
        labels_errors(value, "metadata.labels")
        if field == "labels"
        else annotations_errors(value, "metadata.annotation")
    )
    if errors:
        shown = [str(error) for error in errors]
        raise _Refused(f"invalid metadata: {shown[0] if len(shown) == 1 else '[' + ', '.join(shown) + ']'}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
