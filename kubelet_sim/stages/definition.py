"""The kind Stage of `kwok.x-k8s.io` as a CustomResourceDefinition, whose schema also judges stages from files.

Fields of kwok's v1alpha1 (pkg/apis/v1alpha1/stage_types.go).
"""

from __future__ import annotations

from typing import Any

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS, Resource
from kubeloop.client.api import Api

STAGES = Resource("kwok.x-k8s.io", "v1alpha1", "stages", "Stage", namespaced=False)
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
# The condition that tells why a Stage is not played; without it all is well.
INVALID = "Invalid"

_MANAGER = "kubelet-sim"
_TEXT: dict[str, Any] = {"type": "string"}
_FLAG = {"type": "boolean"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}


def _object(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_MILLISECONDS = {"type": "integer", "format": "int64", "minimum": 0}
_EXPRESSION = _object(("expression",), expression=_TEXT)
_FROM = _object(cel=_EXPRESSION, jq=_EXPRESSION, expressionFrom=_TEXT)
_REQUIREMENT: dict[str, Any] = {
    "key": _TEXT,
    "operator": {"type": "string", "enum": list(OPERATORS)},
    "values": _list(_TEXT),
}
_SELECTOR = _object(
    matchLabels=_TEXTS,
    matchAnnotations=_TEXTS,
    matchExpressions=_list(_object(cel=_EXPRESSION, jq=_object(("key", "operator"), **_REQUIREMENT), **_REQUIREMENT)),
)
_DELAY = _object(
    durationMilliseconds=_MILLISECONDS,
    durationFrom=_FROM,
    jitterDurationMilliseconds=_MILLISECONDS,
    jitterDurationFrom=_FROM,
)
_EVENT = _object(type=_TEXT, reason=_TEXT, message=_TEXT)
_FINALIZER = _list(_object(("value",), value=_TEXT))
_FINALIZERS = _object(add=_FINALIZER, remove=_FINALIZER, empty=_FLAG)
_AS = _object(("username",), username=_TEXT)
_PATCH = _object(
    ("template",),
    subresource=_TEXT,
    root=_TEXT,
    template=_TEXT,
    type={"type": "string", "enum": ["json", "merge", "strategic"]},
    impersonation=_AS,
)
_APPLY = _object(
    ("template",),
    subresource=_TEXT,
    template=_TEXT,
    type={"type": "string", "enum": ["apply", "merge", "strategic"]},
    impersonation=_AS,
)
SPEC = _object(
    ("resourceRef",),
    resourceRef=_object(("kind",), apiGroup={"type": "string", "default": "v1"}, kind=_TEXT),
    selector=_SELECTOR,
    weight={"type": "integer", "minimum": 0, "default": 0},
    weightFrom=_FROM,
    delay=_DELAY,
    next=_object(
        event=_EVENT,
        finalizers=_FINALIZERS,
        delete=_FLAG,
        patches=_list(_PATCH),
        statusTemplate=_TEXT,
        statusSubresource={"type": "string", "default": "status"},
        statusPatchAs=_AS,
    ),
    immediateNextStage=_FLAG,
    steps=_list(_object(patch=_PATCH, event=_EVENT, finalizers=_FINALIZERS, delete=_FLAG, apply=_APPLY)),
)
_CONDITION = _object(
    ("type", "status"),
    type=_TEXT,
    status=_TEXT,
    reason=_TEXT,
    message=_TEXT,
    lastTransitionTime={"type": "string", "format": "date-time"},
)


def definition() -> Object:
    """The CustomResourceDefinition."""
    conditions = {**_list(_CONDITION), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    schema = _object(("spec",), spec=SPEC, status=_object(conditions=conditions))
    version = {
        "name": STAGES.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            _column("Of", ".spec.resourceRef.kind"),
            _column("Weight", ".spec.weight", "integer"),
            _column("Problem", f'.status.conditions[?(@.type=="{INVALID}")].message'),
            _column("Age", ".metadata.creationTimestamp", "date"),
        ],
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": CUSTOM_RESOURCE_DEFINITIONS.api_version,
        "kind": CUSTOM_RESOURCE_DEFINITIONS.kind,
        "metadata": {"name": str(STAGES)},
        "spec": {
            "group": STAGES.group,
            "scope": "Cluster",
            "names": {"plural": STAGES.plural, "singular": "stage", "kind": STAGES.kind},
            "versions": [version],
        },
    }


async def install(api: Api) -> None:
    """Whatever was there."""
    await api.apply(CUSTOM_RESOURCE_DEFINITIONS, definition(), field_manager=_MANAGER, force=True)


def _column(name: str, path: str, type_: str = "string") -> Object:
    return {"name": name, "type": type_, "jsonPath": path}
