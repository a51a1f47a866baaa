"""What a webhook answered over HTTP, read as client-go reads it: the review, or why it is none.

Facts: client-go/rest/request.go (Result.Into), apimachinery's NewGenericServerResponse and its serializers (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apiserver.schema.json_text import JsonSyntaxError, parse
from apiserver.webhooks.errors import WebhookError
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

_JSON = "application/json"
_SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:71"
_MAX_QUOTED_BYTES = 2048
_VERSIONS = ("v1", "v1beta1")

_BY_CODE = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
_IN_ITS_WORDS = (403, 415)
_NOT_ACCEPTABLE = "the server was unable to respond with a content type that the client supports"
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole response; `content_type` is "" where none was sent."""

    code: int
    content_type: str
    body: bytes


def read_review(answer: HttpAnswer, sent: Json) -> Object:
    """The review in an answer to `sent`: of the same kind and version, or saying neither. Raises WebhookError."""
    if not 200 <= answer.code <= 206:
        raise _refusal(answer)
    if not answer.body:
        content_type = answer.content_type or _JSON
        raise WebhookError(f"0-length response with status code: {answer.code} and content type: {content_type}")
    review = _parsed(answer.body)
    _check_type(review, sent)
    return review


def _refusal(answer: HttpAnswer) -> WebhookError:
    """The Status in an answer, or what its code is taken to mean."""
    try:
        status = _parsed(answer.body) if answer.body else {}
    except WebhookError:
        status = {}
    is_status = (status.get("kind") or "Status", status.get("apiVersion") or "v1") == ("Status", "v1")
    if is_status and status.get("status") == "Failure":
        message, code = status.get("message"), status.get("code")
        return WebhookError(message if isinstance(message, str) else "", code if isinstance(code, int) else 0)
    return WebhookError(_meaning(answer), answer.code)


def _meaning(answer: HttpAnswer) -> str:
    media_type = answer.content_type.partition(";")[0].strip().lower()
    is_text = not media_type or media_type.startswith("text/")
    said = answer.body[:_MAX_QUOTED_BYTES].decode("utf-8", "replace").strip() if is_text else _UNKNOWN
    if answer.code in _IN_ITS_WORDS:
        return said
    if answer.code == 406:
        return said if said not in ("", _UNKNOWN) else _NOT_ACCEPTABLE
    if answer.code in _BY_CODE:
        return _BY_CODE[answer.code]
    if answer.code >= 500:
        return f"an error on the server ({go_quote(said)}) has prevented the request from succeeding"
    return f"the server responded with the status code {answer.code} but did not return more information"


def _parsed(body: bytes) -> Object:
    try:
        value = parse(body)
    except JsonSyntaxError as error:
        raise WebhookError(f"couldn't get version/kind; json parse error: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        found = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
        struct = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
        why = f"json: cannot unmarshal {found} into Go value of type {struct}"
        raise WebhookError(f"couldn't get version/kind; json parse error: {why}")
    return value


def _check_type(review: Json, sent: Json) -> None:
    """What it says it is must be what was sent; what it leaves out is taken as meant."""
    for field in ("apiVersion", "kind"):
        if not isinstance(review.get(field, ""), str):
            raise WebhookError(f"couldn't get version/kind; json parse error: {field} must be a string")
    expected_group, _, expected_version = str(sent["apiVersion"]).rpartition("/")
    group, _, version = (review.get("apiVersion") or "").rpartition("/")
    kind = review.get("kind") or sent["kind"]
    if not version:
        group, version = expected_group, expected_version
    if (group, version, kind) == (expected_group, expected_version, sent["kind"]):
        return
    if (group == expected_group and version in _VERSIONS and kind == sent["kind"]) or (group, kind) == ("", "Status"):
        raise WebhookError(f"converting ({version}.{kind}) to ({expected_version}.{sent['kind']}): unknown conversion")
    shown = f"{group}/{version}" if group else version
    raise WebhookError(
        f"no kind {go_quote(kind)} is registered for version {go_quote(shown)} in scheme {go_quote(_SCHEME)}"
    )
