"""ConfigMaps."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from apiserver.resources.checks import NO_FIELDS, Errors, check_config_map_key
from apiserver.resources.kinds import PlainKind
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

MAX_BYTES = 1024 * 1024
FROZEN = "field is immutable when `immutable` is set"


class ConfigMapStrategy(PlainKind):
    rechecks_object = True

    def check(self, obj: Object, errors: Errors) -> None:
        data, binary = obj.get("data") or NO_FIELDS, obj.get("binaryData") or NO_FIELDS
        size = 0
        for key, value in data.items():
            check_config_map_key(key, f"data[{key}]", errors)
            if key in binary:
                errors.append(field.invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
            size += len(value) if value.isascii() else len(value.encode())
        for key, value in binary.items():
            check_config_map_key(key, f"binaryData[{key}]", errors)
            size += len(base64.b64decode(value))
        if size > MAX_BYTES:
            errors.append(field.too_long("[]", MAX_BYTES))  # how Go prints the path of the whole object

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_frozen(new, old, ("data", "binaryData"), errors)
        self.check(new, errors)


def check_frozen(new: Mapping[str, object], old: Mapping[str, object], names: tuple[str, ...], errors: Errors) -> None:
    """What was declared immutable stays so, and stays as it is."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        errors.append(field.forbidden("immutable", FROZEN))
    for name in names:
        if (new.get(name) or NO_FIELDS) != (old.get(name) or NO_FIELDS):
            errors.append(field.forbidden(name, FROZEN))


CONFIG_MAP = ConfigMapStrategy()
