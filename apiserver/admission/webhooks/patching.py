"""What a mutating webhook's patch makes of the object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.admission.webhooks.invocation import Invocation
from apiserver.admission.webhooks.outcome import CallFailed
from apiserver.admission.webhooks.review import JSON_PATCH, Answer
from apiserver.admission.webhooks.views import Views
from apiserver.patch import json_patch
from apiserver.patch.json_patch import Operation, PatchError
from apiserver.schema.codec import DecodeError
from apiserver.schema.json_text import JsonSyntaxError, parse
from apiserver.webhooks.errors import SERVICE_UNAVAILABLE
from kubeloop.apimachinery.errors import InternalError
from kubeloop.apimachinery.field import go_quote


async def apply_patch(operations: Sequence[Operation], answer: Answer, invocation: Invocation, views: Views) -> bool:
    """Apply the patch of an answer; says whether it changed anything.

    Raises CallFailed where it is of another type, and an InternalError where it cannot be applied to this object.
    """
    name = invocation.webhook.name
    shown = (await views.shown(invocation.kind)).object
    if shown is None:
        why = "attempted to modify the object, which is not supported for this operation"
        raise InternalError.because(f"admission webhook {go_quote(name)} {why}")
    if answer.patch_type != JSON_PATCH:
        code = max(int((answer.status or {}).get("code") or 0), 400)
        raise CallFailed(name, f"unsupported patch type {go_quote(answer.patch_type)}", code)
    try:
        return await views.replace(json_patch.carried_out(shown, operations), invocation.kind)
    except (PatchError, DecodeError) as error:
        raise InternalError.because(str(error)) from error


def operations_of(patch: bytes, name: str) -> Sequence[Operation]:
    """The operations of a patch; CallFailed of the webhook `name` where it is none."""
    try:
        operations = parse(patch)
    except JsonSyntaxError as error:
        raise _undecodable(name, str(error)) from error
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise _undecodable(name, _wrong_type(operations, "jsonpatch.Patch"))
    for operation in operations:
        if not isinstance(operation, dict | None):
            raise _undecodable(name, _wrong_type(operation, "jsonpatch.Operation"))
    return [operation or {} for operation in operations]


def _undecodable(name: str, why: str) -> CallFailed:
    return CallFailed(name, f"received undecodable patch in webhook response: {why}", SERVICE_UNAVAILABLE)


def _wrong_type(value: Any, wanted: str) -> str:
    names: tuple[tuple[type, str], ...] = ((bool, "bool"), (str, "string"), (dict, "object"), (list, "array"))
    found = next((name for type_, name in names if isinstance(value, type_)), "number")
    return f"json: cannot unmarshal {found} into Go value of type {wanted}"
