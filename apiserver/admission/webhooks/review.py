"""AdmissionReviews: the question a webhook is sent, and its answer, checked.

Facts: k8s.io/api/admission/{v1,v1beta1} and k8s.io/apiserver/pkg/admission/plugin/webhook/request (v1.36).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apiserver.admission.chain import Attributes
from apiserver.admission.webhooks.invocation import Invocation, name_of_request, namespace_of_request
from apiserver.auth.authentication import User
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.resource import Resource

Json = Mapping[str, Any]

GROUP, KIND, JSON_PATCH = "admission.k8s.io", "AdmissionReview", "JSONPatch"
_V1, _V1BETA1 = f"{GROUP}/v1", f"{GROUP}/v1beta1"


class ReviewError(ValueError):
    """An answer that is none to the question that was asked."""


def version_of(source: Json) -> str:
    """The first version of AdmissionReview that a webhook accepts and this server speaks, "" where there is none."""
    accepted: Sequence[str] = source.get("admissionReviewVersions") or ()
    return next((version for version in accepted if version in ("v1", "v1beta1")), "")


def question(
    uid: str,
    version: str,
    invocation: Invocation,
    attributes: Attributes,
    request_kind: Resource,
    obj: ReadOnlyObject | None,
    old: ReadOnlyObject | None,
) -> Object:
    """The review to send. `obj` and `old` are as the webhook is to see them, `request_kind` is what was sent."""
    of, kind = invocation.resource, invocation.kind
    request: Object = {"uid": uid, "kind": _kind(kind), "resource": _resource(of)}
    _add(request, "subResource", attributes.subresource)
    request["requestKind"] = _kind(request_kind)
    request["requestResource"] = _resource(attributes.resource)
    _add(request, "requestSubResource", attributes.subresource)
    _add(request, "name", name_of_request(attributes))
    _add(request, "namespace", namespace_of_request(attributes))
    request["operation"] = attributes.operation
    request["userInfo"] = _user(attributes.user)
    request["object"], request["oldObject"] = obj, old
    request["dryRun"] = attributes.dry_run
    request["options"] = attributes.options or None
    return {"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request}


def _kind(of: Resource) -> Object:
    return {"group": of.group, "version": of.version, "kind": of.kind}


def _resource(of: Resource) -> Object:
    return {"group": of.group, "version": of.version, "resource": of.plural}


def _user(user: User) -> Object:
    shown: Object = {}
    _add(shown, "username", user.name)
    _add(shown, "uid", user.uid)
    _add(shown, "groups", list(user.groups))
    _add(shown, "extra", {key: list(values) for key, values in user.extra.items()})
    return shown


def _add(to: Object, key: str, value: Any) -> None:
    if value:
        to[key] = value


@dataclass(frozen=True, slots=True)
class Answer:
    """What a webhook says. `patch` is the bytes of a JSON patch, empty where it changes nothing."""

    allowed: bool
    status: Json | None = None
    patch: bytes = b""
    patch_type: str = ""
    warnings: Sequence[str] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)  # for the audit log


# field of AdmissionResponse -> its type, and Go's name for that
_TYPES: Mapping[str, tuple[type, str]] = {
    "uid": (str, "types.UID"),
    "allowed": (bool, "bool"),
    "status": (dict, "v1.Status"),
    "patch": (str, "[]uint8"),
    "patchType": (str, "v1.PatchType"),
    "auditAnnotations": (dict, "map[string]string"),
    "warnings": (list, "[]string"),
}


def check_types(review: Json) -> None:
    """Refuse values that Go could not decode into an AdmissionReview. Raises ReviewError."""
    response = review.get("response")
    if response is None:
        return
    if not isinstance(response, dict):
        raise _wrong_type(response, "AdmissionReview.response", "v1.AdmissionResponse")
    for name, (type_, in_go) in _TYPES.items():
        value = response.get(name)
        if value is not None and not isinstance(value, type_):
            raise _wrong_type(value, f"AdmissionResponse.response.{name}", in_go)
    _check_status(response.get("status") or {})
    for text in response.get("warnings") or ():
        if not isinstance(text, str):
            raise _wrong_type(text, "AdmissionResponse.response.warnings", "string")
    for text in (response.get("auditAnnotations") or {}).values():
        if not isinstance(text, str):
            raise _wrong_type(text, "AdmissionResponse.response.auditAnnotations", "string")
    _patch_of(response)


_STATUS_TYPES: Mapping[str, tuple[type, str]] = {
    "status": (str, "string"),
    "message": (str, "string"),
    "reason": (str, "v1.StatusReason"),
    "details": (dict, "v1.StatusDetails"),
    "code": (int, "int32"),
}
_INT32 = range(-(1 << 31), 1 << 31)


def _check_status(status: Json) -> None:
    for name, (type_, in_go) in _STATUS_TYPES.items():
        value = status.get(name)
        is_good = value is None or (isinstance(value, type_) and not (type_ is int and isinstance(value, bool)))
        if not is_good:
            raise _wrong_type(value, f"Status.response.status.{name}", in_go)
    code = status.get("code")
    if code is not None and code not in _INT32:
        where = "Status.response.status.code"
        raise ReviewError(f"json: cannot unmarshal number {code} into Go struct field {where} of type int32")


def _wrong_type(value: Any, where: str, wanted: str) -> ReviewError:
    names: tuple[tuple[type, str], ...] = ((bool, "bool"), (str, "string"), (dict, "object"), (list, "array"))
    found = next((name for type_, name in names if isinstance(value, type_)), "number")
    return ReviewError(f"json: cannot unmarshal {found} into Go struct field {where} of type {wanted}")


def answer_in(review: Json, uid: str, version: str, *, mutating: bool) -> Answer:
    """The answer to the question `uid`. Raises ReviewError where it is none. The review's types were checked."""
    response = review.get("response")
    if response is None:
        raise ReviewError("webhook response was absent")
    patch, patch_type = _patch_of(response), response.get("patchType")
    if version == "v1":
        _check_v1(review, response, uid)
        _check_patch(patch, patch_type, mutating=mutating)
    else:  # not checked in v1beta1
        patch_type = JSON_PATCH
    return Answer(
        response.get("allowed") or False,
        response.get("status"),
        patch if mutating else b"",
        patch_type or "",
        response.get("warnings") or (),
        response.get("auditAnnotations") or {},
    )


def _check_v1(review: Json, response: Json, uid: str) -> None:
    if (response.get("uid") or "") != uid:
        raise ReviewError(f"expected response.uid={go_quote(uid)}, got {go_quote(response.get('uid') or '')}")
    said = f"{review.get('apiVersion') or '/'}, Kind={review.get('kind') or ''}"
    if said != f"{_V1}, Kind={KIND}":
        raise ReviewError(f"expected webhook response of {_V1}, Kind={KIND}, got {said}")


def _check_patch(patch: bytes, patch_type: str | None, *, mutating: bool) -> None:
    if not mutating:
        for name, value in (("patch", patch), ("patchType", patch_type)):
            if value or (name == "patchType" and value is not None):
                raise ReviewError(f"validating webhook may not return response.{name}")
    elif patch and patch_type is None:
        raise ReviewError("webhook returned response.patch but not response.patchType")
    elif not patch and patch_type is not None:
        raise ReviewError("webhook returned response.patchType but not response.patch")
    elif patch_type == "":
        raise ReviewError('webhook returned invalid response.patchType of ""')


def _patch_of(response: Json) -> bytes:
    text = (response.get("patch") or "").replace("\n", "").replace("\r", "")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ReviewError(f"illegal base64 data at input byte {_first_bad(text)}") from error


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _first_bad(text: str) -> int:
    """Where Go's decoder stops: at the first character that cannot stand there, else at the end."""
    padding = len(text) - len(text.rstrip("="))
    for i, character in enumerate(text[: len(text) - min(padding, 2)]):
        if character not in _ALPHABET:
            return i
    return len(text) - len(text) % 4
