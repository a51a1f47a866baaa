"""What every answer must be, whatever was asked."""

from __future__ import annotations

import re

from apiserver.resources.catalog import KINDS
from tests.fuzz.client import Answer
from tests.fuzz.request import Request

# What upstream itself answers with a 5xx, by the beginning of the message, and where that is from.
UPSTREAM_ERRORS: tuple[str, ...] = (
    # A create that says a resourceVersion reaches the storage: storage.ErrResourceVersionSetOnCreate.
    "resourceVersion should not be set on objects to be created",
    # An apply body that its type does not fit: fieldmanager/structuredmerge.go wraps it in a plain error.
    "failed to create typed patch object (",
    "failed to convert new object (",
    # get parses ?resourceVersion= in the storage, which answers with a plain error (etcd3/store.go).
    "resourceVersion: Invalid value: ",
    # An object that is stored already is not of its type (managedfields/internal/skipnonapplied.go, structuredmerge.go).
    "failed to create manager for existing fields: ",
    "failed to create typed live object (",
    # A custom resource whose replicas are not where its definition says (customresource/etcd.go).
    "Internal error occurred: the spec replicas field ",
    # A resourceVersion that is not there yet is waited for, then a 504: storage.NewTooLargeResourceVersionError.
    "Timeout: Too large resource version: ",
    "Too large resource version: ",
    # What a strategic merge patch may not be, where strategicpatch/patch.go has a plain error for it.
    "unknown patch type: ",
    "map: map[",
    "list element types are not identical: ",
    "unable to find api field in struct ",
    "expected a map[string]interface {}, but received a ",
    # An object to update whose resourceVersion is no number (versioner.ObjectResourceVersion, in Store.Update).
    "strconv.ParseUint: parsing ",
    # A Binding that is refused (registry/core/pod/storage: errs.ToAggregate()).
    "target.kind: ",
    "target.name: ",
    "[target.kind: ",
    # A Service where no ServiceCIDR has an address left, or all were deleted (registry/core/service/storage/alloc.go).
    "Internal error occurred: failed to allocate a serviceIP for Service ",
    # A proxy to a Service without endpoints, or without the port (registry/core/service/storage/storage.go).
    "no endpoints available for service ",
    "no service port ",
    # A node that nobody serves, or that has no address (LocationStreamer, UpgradeAwareHandler, proxy.Transport).
    'Get "https://',
    "error dialing backend: ",
    "error trying to reach service: ",
    "no preferred addresses found; known addresses: ",
)
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_BUILT_IN = (b" /api/", *(f" /apis/{kind.group}/".encode() for kind in KINDS if kind.group))


def problem(request: Request, answer: Answer) -> str:
    """What is wrong with an answer; "" where nothing is."""
    if answer.status < 400:
        return ""
    if answer.status >= 500:
        return "" if request.is_head else _unless_upstream(answer)  # whose answer to a GET is looked at
    if request.is_head or not request.is_api:
        return ""
    return _not_a_status(request, answer)


def _unless_upstream(answer: Answer) -> str:
    try:
        message = answer.value()["message"]
    except (ValueError, TypeError, KeyError):
        return f"answered {answer.status} without a Status"
    return "" if message.startswith(UPSTREAM_ERRORS) else f"answered {answer.status}: {message}"


def _not_a_status(request: Request, answer: Answer) -> str:
    if answer.status == 404 and answer.body == b"404 page not found\n" and not _is_built_in(request):
        return ""  # a group that is not served
    if answer.status == 400 and answer.body == b"400 Bad Request" and _has_unreadable_path(request):
        return ""  # net/http's own answer: nobody knows what was asked for
    try:
        status = answer.value()
    except ValueError as error:
        return f"a {answer.status} that is no Status: {error}"
    if type(status) is not dict or status.get("kind") != "Status" or status.get("status") != "Failure":
        return f"a {answer.status} that is no Status"
    if status.get("code") != answer.status or not status.get("reason"):
        return f"a {answer.status} whose Status has reason {status.get('reason')!r} and code {status.get('code')!r}"
    return ""


def _has_unreadable_path(request: Request) -> bool:
    return _BAD_ESCAPE.search(request.line.split(b" ")[1].partition(b"?")[0]) is not None


def _is_built_in(request: Request) -> bool:
    return any(group in request.line for group in _BUILT_IN)
