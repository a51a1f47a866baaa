"""The versions that are served but not stored, and how they read and write the stored ones."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.registry.catalog import Conversion
from apiserver.resources.autoscaling import conversion as autoscaling
from apiserver.resources.events import conversion as events

CONVERSIONS: Mapping[tuple[str, str, str], Conversion] = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): Conversion(autoscaling.to_stored, autoscaling.from_stored),
    ("events.k8s.io", "v1", "Event"): Conversion(events.to_stored, events.from_stored),
}
