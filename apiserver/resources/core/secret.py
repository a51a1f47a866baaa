"""Secrets: their types, and which keys each type must have."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_FIELDS, Errors, check_config_map_key, check_immutable
from apiserver.resources.core.config_map import MAX_BYTES, check_frozen
from apiserver.resources.core.key_pair import KeyPairError, check_key_pair
from apiserver.resources.filling import fill_empty
from apiserver.resources.kinds import FieldMap, PlainKind
from apiserver.schema.json_syntax import complaint
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

OPAQUE = "Opaque"
SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"
ACCOUNT_NAME = "kubernetes.io/service-account.name"
TLS = "kubernetes.io/tls"
TLS_KEYS = ("tls.crt", "tls.key")
FIELDS = FieldMap({"type": ("type",)})


class SecretStrategy(PlainKind):
    rechecks_object = True

    def default(self, obj: Object) -> None:
        """`stringData` is for writing only: it is merged into `data`, and wins."""
        fill_empty(obj, {"type": OPAQUE})
        if text := obj.pop("stringData", None):
            data = obj.setdefault("data", {})
            for key, value in text.items():
                data[key] = base64.b64encode(value.encode()).decode()

    def prepare_for_update(self, new: Object, old: Object) -> None:
        fill_empty(new, {"type": old.get("type", OPAQUE)})

    def check(self, obj: Object, errors: Errors) -> None:
        data = obj.get("data") or NO_FIELDS
        size = 0
        for key, value in data.items():
            check_config_map_key(key, f"data[{key}]", errors)
            size += len(base64.b64decode(value or ""))
        if size > MAX_BYTES:
            errors.append(field.too_long("data", MAX_BYTES))
        if check := TYPE_CHECKS.get(obj.get("type", "")):
            check(obj, data, errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_immutable(new.get("type", ""), old.get("type", ""), "type", errors)
        check_frozen(new, old, ("data",), errors)
        self.check(new, errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        """A certificate and its key should at least fit together."""
        if obj.get("type") != TLS:
            return ()
        data = obj.get("data") or NO_FIELDS
        try:
            check_key_pair(*(base64.b64decode(data.get(key) or "") for key in TLS_KEYS))
        except KeyPairError as error:
            return [str(error)]
        return ()

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        return FIELDS.values(obj)

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return FIELDS.names


def _check_account_token(obj: Json, data: Json, errors: Errors) -> None:
    if not (obj["metadata"].get("annotations") or NO_FIELDS).get(ACCOUNT_NAME):
        errors.append(field.required(f"metadata.annotations[{ACCOUNT_NAME}]"))


def _check_json(key: str) -> Callable[[Json, Json, Errors], None]:
    def check(obj: Json, data: Json, errors: Errors) -> None:
        if key not in data:
            errors.append(field.required(f"data[{key}]"))
        elif reason := _json_object_error(base64.b64decode(data[key] or "")):
            errors.append(field.invalid(f"data[{key}]", "<secret contents redacted>", reason))

    return check


def _check_basic_auth(obj: Json, data: Json, errors: Errors) -> None:
    if "username" not in data and "password" not in data:
        errors.append(field.required("data[username]"))
        errors.append(field.required("data[password]"))


def _check_ssh_auth(obj: Json, data: Json, errors: Errors) -> None:
    if not data.get("ssh-privatekey"):
        errors.append(field.required("data[ssh-privatekey]"))


def _check_tls(obj: Json, data: Json, errors: Errors) -> None:
    for key in TLS_KEYS:
        if key not in data:
            errors.append(field.required(f"data[{key}]"))


def _json_object_error(content: bytes) -> str:
    """What Go's decoder says of text that is no JSON object; "" where it is one, or null."""
    if reason := complaint(content):
        return reason
    first = content.lstrip()[:1]
    if first in (b"{", b"n"):
        return ""
    kind = {b"[": "array", b'"': "string", b"t": "bool", b"f": "bool"}.get(first, "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


TYPE_CHECKS: Mapping[str, Callable[[Json, Json, Errors], None]] = {
    SERVICE_ACCOUNT_TOKEN: _check_account_token,
    "kubernetes.io/dockercfg": _check_json(".dockercfg"),
    "kubernetes.io/dockerconfigjson": _check_json(".dockerconfigjson"),
    "kubernetes.io/basic-auth": _check_basic_auth,
    "kubernetes.io/ssh-auth": _check_ssh_auth,
    TLS: _check_tls,
}
SECRET = SecretStrategy()
