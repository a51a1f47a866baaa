"""The one error tree: every refusal of the API is an ApiError, and every ApiError is a `metav1.Status`.

The API server raises these and encodes them with `to_status`; the client decodes a Status with `from_status` and
raises the same class again, so a reconcile catches `Conflict` whether it runs in the server's process or not.

    ApiError
    ├── BadRequest 400            ├── RequestEntityTooLarge 413
    ├── Unauthorized 401          ├── UnsupportedMediaType 415
    ├── Forbidden 403             ├── Invalid 422
    ├── NotFound 404              ├── TooManyRequests 429
    ├── MethodNotAllowed 405      ├── InternalError 500
    ├── NotAcceptable 406         ├── ServiceUnavailable 503
    ├── AlreadyExists 409         └── Timeout 504
    ├── Conflict 409
    └── Expired 410

Messages follow k8s.io/apimachinery/pkg/api/errors (v1.36).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kubeloop.apimachinery.field import FieldError, go_quote

Status = dict[str, Any]


class ApiError(Exception):
    """A refusal in Kubernetes' own form.

    `details` is the Status' `details` object (`name`, `group`, `kind`, `uid`, `causes`, `retryAfterSeconds`);
    an empty reason is left out, as metav1.StatusReasonUnknown is.
    """

    code = 500
    reason = ""

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        reason: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = self.code if code is None else code
        self.reason = self.reason if reason is None else reason
        self.details = dict(details) if details is not None else None
        self.list_metadata: dict[str, Any] = {}  # metadata of the Status: the continue token of an expired list

    def to_status(self) -> Status:
        """This refusal as a `Status` object, its keys in the order the real server writes them."""
        status: Status = {"kind": "Status", "apiVersion": "v1", "metadata": self.list_metadata, "status": "Failure"}
        if self.message:
            status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return {**status, "code": self.code}


class BadRequest(ApiError):
    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    code, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    code, reason = 403, "Forbidden"

    @classmethod
    def of(cls, resource: str, group: str, name: str, why: str) -> Forbidden:
        """`pods "web" is forbidden: why` (without a name: `pods is forbidden: why`)."""
        subject = _qualified(resource, group) + (f' "{name}"' if name else "")
        return cls(f"{subject} is forbidden: {why}", details=_details(name, group, resource))


class NotFound(ApiError):
    code, reason = 404, "NotFound"

    @classmethod
    def of(cls, resource: str, group: str, name: str) -> NotFound:
        """`deployments.apps "web" not found`."""
        return cls(f"{_qualified(resource, group)} {go_quote(name)} not found", details=_details(name, group, resource))


class UnknownPath(NotFound):
    """No such path: the 404 of a resource nobody serves."""

    def __init__(self) -> None:
        super().__init__("the server could not find the requested resource", details={})


class MethodNotAllowed(ApiError):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(ApiError):
    code, reason = 406, "NotAcceptable"


class AlreadyExists(ApiError):
    code, reason = 409, "AlreadyExists"

    @classmethod
    def of(cls, resource: str, group: str, name: str) -> AlreadyExists:
        """`deployments.apps "web" already exists`."""
        return cls(
            f"{_qualified(resource, group)} {go_quote(name)} already exists", details=_details(name, group, resource)
        )


class Conflict(ApiError):
    code, reason = 409, "Conflict"

    @classmethod
    def of(cls, resource: str, group: str, name: str, why: str) -> Conflict:
        """`Operation cannot be fulfilled on pods "web": why`."""
        message = f"Operation cannot be fulfilled on {_qualified(resource, group)} {go_quote(name)}: {why}"
        return cls(message, details=_details(name, group, resource))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


class Expired(ApiError):
    """410: a resourceVersion or continue token older than the log still remembers."""

    code, reason = 410, "Expired"


class RequestEntityTooLarge(ApiError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    code, reason = 422, "Invalid"

    @classmethod
    def of(cls, kind: str, group: str, name: str, errors: Sequence[FieldError]) -> Invalid:
        """`Deployment.apps "web" is invalid: spec.replicas: …`, with one cause an error.

        Several errors are joined as `[a, b]`; equal ones count once in the message, as utilerrors.Aggregate has it.
        """
        texts = list(dict.fromkeys(str(error) for error in errors))
        joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
        details = _details(name, group, kind)
        details["causes"] = [error.to_cause() for error in errors]
        return cls(f"{_qualified(kind, group)} {go_quote(name)} is invalid: {joined}", details=details)

    @classmethod
    def unprocessable(cls) -> Invalid:
        """The 422 that says nothing, as NewGenericServerResponse words it."""
        return cls("the server rejected our request due to an error in our request", details={})


class TooManyRequests(ApiError):
    code, reason = 429, "TooManyRequests"


class InternalError(ApiError):
    code, reason = 500, "InternalError"

    @classmethod
    def because(cls, why: str) -> InternalError:
        """`Internal error occurred: why`."""
        return cls(f"Internal error occurred: {why}", details={"causes": [{"message": why}]})


class ServiceUnavailable(ApiError):
    code, reason = 503, "ServiceUnavailable"


class Timeout(ApiError):
    code, reason = 504, "Timeout"


_BY_REASON: dict[str, type[ApiError]] = {
    cls.reason: cls
    for cls in (
        BadRequest,
        Unauthorized,
        Forbidden,
        NotFound,
        MethodNotAllowed,
        NotAcceptable,
        AlreadyExists,
        Conflict,
        Expired,
        RequestEntityTooLarge,
        UnsupportedMediaType,
        Invalid,
        TooManyRequests,
        InternalError,
        ServiceUnavailable,
        Timeout,
    )
}
_BY_CODE: dict[int, type[ApiError]] = {cls.code: cls for cls in reversed(_BY_REASON.values())} | {409: Conflict}


def from_status(code: int, body: bytes) -> ApiError:
    """The error a response carries: its Status where it is one, else the HTTP code and the text as message."""
    try:
        status = json.loads(body)
    except ValueError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        text = body.decode("utf-8", "replace").strip()
        return _BY_CODE.get(code, ApiError)(text or f"HTTP {code}", code=code)
    reason = status.get("reason", "")
    cls = _BY_REASON.get(reason, ApiError)
    return cls(
        status.get("message", ""), code=status.get("code", code), reason=reason, details=status.get("details") or None
    )


def _qualified(resource_or_kind: str, group: str) -> str:
    return f"{resource_or_kind}.{group}" if group else resource_or_kind


def _details(name: str, group: str, kind: str) -> dict[str, Any]:
    return {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}
