"""What `kubectl get` shows of webhook configurations and admission policies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.printing.cells import AGE, NAME, UNSET, count, field
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject


def _parameter_kind(policy: ReadOnlyObject, now: datetime) -> str:
    kind = (policy.get("spec") or {}).get("paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _parameter(binding: ReadOnlyObject, now: datetime) -> str:
    """The parameter's name, `*/name` where no namespace is given; else the selector as Go prints the struct."""
    reference = (binding.get("spec") or {}).get("paramRef")
    if reference is None:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return UNSET if reference.get("selector") is None else _go_selector(reference["selector"])


def _go_selector(selector: Mapping[str, Any]) -> str:
    labels = selector.get("matchLabels") or {}
    pairs = "".join(f"{k}: {labels[k]}," for k in sorted(labels))
    requirements = "".join(map(_go_requirement, selector.get("matchExpressions") or ()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


def _go_requirement(requirement: Mapping[str, Any]) -> str:
    values = " ".join(requirement.get("values") or ())
    return (
        f"LabelSelectorRequirement{{Key:{requirement['key']},Operator:{requirement['operator']},Values:[{values}],}},"
    )


MUTATING_WEBHOOK_CONFIGURATION_COLUMNS = (
    NAME,
    Column("Webhooks", "integer", count("webhooks")),
    AGE,
)
VALIDATING_WEBHOOK_CONFIGURATION_COLUMNS = MUTATING_WEBHOOK_CONFIGURATION_COLUMNS

VALIDATING_ADMISSION_POLICY_COLUMNS = (
    NAME,
    Column("Validations", "integer", count("spec", "validations")),
    Column("ParamKind", "string", _parameter_kind),
    AGE,
)

MUTATING_ADMISSION_POLICY_COLUMNS = (
    NAME,
    Column("Mutations", "integer", count("spec", "mutations")),
    Column("ParamKind", "string", _parameter_kind),
    AGE,
)

VALIDATING_ADMISSION_POLICY_BINDING_COLUMNS = (
    NAME,
    Column("PolicyName", "string", field("spec", "policyName")),
    Column("ParamRef", "string", _parameter),
    AGE,
)
MUTATING_ADMISSION_POLICY_BINDING_COLUMNS = VALIDATING_ADMISSION_POLICY_BINDING_COLUMNS
