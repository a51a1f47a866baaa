"""What a start makes of the roles and bindings that are there: what they lack is added, nothing taken away.

`bootstrap.py` asks. An object annotated `rbac.authorization.kubernetes.io/autoupdate: "false"` is left as it is.
Semantics: component-helpers/auth/rbac/reconciliation (v1.36), without the removal of what is too much.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.auth.escalation import missing_rules
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of, labels_of

_AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def is_bound_elsewhere(existing: ReadOnlyObject, expected: ReadOnlyObject) -> bool:
    """Whether a binding names another role than it should, which no update can mend: it has to be made anew."""
    return not _is_protected(existing) and existing.get("roleRef") != expected.get("roleRef")


def reconciled(existing: ReadOnlyObject, expected: ReadOnlyObject) -> Object | None:
    """The object with what it lacks; None where it lacks nothing or is protected."""
    if _is_protected(existing):
        return None
    made: Object = {**existing, "metadata": dict(existing["metadata"])}
    for field, wanted, present in (
        ("labels", labels_of(expected), labels_of(existing)),
        ("annotations", annotations_of(expected), annotations_of(existing)),
    ):
        if merged := {**wanted, **present}:
            made["metadata"][field] = merged
    if "roleRef" in expected:
        _add_subjects(made, expected)
    else:
        _add_rules(made, expected)
    return made if made != existing else None


def _is_protected(existing: ReadOnlyObject) -> bool:
    return annotations_of(existing).get(_AUTOUPDATE) == "false"


def _add_subjects(binding: Object, expected: ReadOnlyObject) -> None:
    present = binding.get("subjects") or []
    missing = [subject for subject in expected.get("subjects") or () if subject not in present]
    if missing:
        binding["subjects"] = [*present, *missing]


def _add_rules(role: Object, expected: ReadOnlyObject) -> None:
    """A role that gathers others' rules lacks none of its own."""
    aggregation = expected.get("aggregationRule")
    if aggregation is None:
        role.pop("aggregationRule", None)
        missing = list(missing_rules(role.get("rules") or (), expected.get("rules") or ()))
        if missing:
            role["rules"] = [*(role.get("rules") or ()), *missing]
        return
    present = _selectors(role.get("aggregationRule"))
    missing = [selector for selector in _selectors(aggregation) if selector not in present]
    if missing:
        role["aggregationRule"] = {"clusterRoleSelectors": [*present, *missing]}


def _selectors(rule: Mapping[str, Any] | None) -> list[Any]:
    return list((rule or {}).get("clusterRoleSelectors") or ())
