"""AppArmor profiles that pods still have as annotations: a new pod gets the fields, and whoever sent it is warned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors
from apiserver.resources.pods.annotations import APPARMOR, apparmor_field
from apiserver.resources.pods.security_context import check_apparmor_profile
from apiserver.resources.pods.surroundings import CONTAINER_LISTS
from kubeloop.apimachinery.meta import Object

OLD = 'deprecated since v1.30; use the "appArmorProfile" field instead'


class _Profile(NamedTuple):
    """What an annotation says of a container that has no field of its own; `field` is None where it says nothing."""

    container: Object
    annotation: str
    field: Mapping[str, Any] | None


def apply_annotations(spec: Object, annotations: Mapping[str, str]) -> None:
    """Containers that have their profile as an annotation get the field too."""
    for profile in _profiles(spec, annotations):
        if profile.field:
            profile.container.setdefault("securityContext", {})["appArmorProfile"] = profile.field


def annotation_warnings(spec: Object, annotations: Mapping[str, str]) -> list[str]:
    """To be asked before the annotations are applied: afterwards nobody knows who set the fields."""
    return [f"metadata.annotations[{profile.annotation}]: {OLD}" for profile in _profiles(spec, annotations)]


def _profiles(spec: Object, annotations: Mapping[str, str]) -> Iterator[_Profile]:
    """What is the pod's own profile anyway needs neither field nor warning."""
    if (spec.get("os") or NO_FIELDS).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or NO_FIELDS).get("appArmorProfile")
    for list_name in CONTAINER_LISTS:
        for container in spec.get(list_name) or NO_ITEMS:
            annotation = APPARMOR + container.get("name", "")
            if annotation not in annotations or "appArmorProfile" in (container.get("securityContext") or NO_FIELDS):
                continue
            profile = apparmor_field(annotations[annotation])
            refused: Errors = []
            check_apparmor_profile(profile, "", refused)
            if refused:
                profile = None
            if profile is None or profile != of_pod:
                yield _Profile(container, annotation, profile)
