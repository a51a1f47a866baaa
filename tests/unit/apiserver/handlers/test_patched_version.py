"""What patches make of an object's version, and how their numbers are quoted."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.testkit.asking import Answer, Asking, on_a_server

SCALERS = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
SCALER = {
    "metadata": {"name": "a"},
    "spec": {
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "targetCPUUtilizationPercentage": 50,
    },
}
MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 7}},
}


def patched(patch: Any, media_type: str = "application/merge-patch+json") -> Answer:
    async def scenario(asking: Asking) -> Answer:
        await asking(f"POST {SCALERS}", SCALER)
        return await asking(f"PATCH {SCALERS}/a", patch, content_type=media_type)

    return on_a_server(scenario)


def test_an_object_patched_to_another_version_is_read_in_that_version() -> None:
    """Fields of the old version are unknown in the new one; the answer is in the version of the path."""
    answer = patched({"apiVersion": "autoscaling/v2", "spec": {"metrics": [MEMORY]}})

    assert (200, "autoscaling/v1") == (answer.status, answer.json["apiVersion"])
    assert "spec.targetCPUUtilizationPercentage" in answer.headers["warning"]
    assert "targetCPUUtilizationPercentage" not in answer.json["spec"]
    assert "memory" in answer.json["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"]


@pytest.mark.parametrize(
    ("patch", "media_type", "code"),
    [
        ({"apiVersion": "autoscaling/v2"}, "application/strategic-merge-patch+json", 200),
        ({"apiVersion": "autoscaling/v3"}, "application/merge-patch+json", 422),
        ({"apiVersion": "apps/v1"}, "application/merge-patch+json", 422),
    ],
)
def test_what_else_a_patch_may_make_of_it(patch: Any, media_type: str, code: int) -> None:
    """Of a strategic merge patch's result the type is known; what no version of the kind is, is refused."""
    assert code == patched(patch, media_type).status


@pytest.mark.parametrize(
    ("patch", "media_type", "number"),
    [
        (b'{"spec":{"maxReplicas":1.0}}', "application/merge-patch+json", "1.0"),
        (b'{"spec":{"maxReplicas":1e0}}', "application/merge-patch+json", "1e0"),
        (b'[{"op":"replace","path":"/spec/maxReplicas","value":2.50}]', "application/json-patch+json", "2.50"),
    ],
)
def test_a_number_is_quoted_as_it_is_spelled(patch: bytes, media_type: str, number: str) -> None:
    """A fraction is no integer, though it may be worth one."""
    answer = patched(orjson.Fragment(patch), media_type)

    assert 422 == answer.status
    assert answer.json["message"].endswith(
        f"json: cannot unmarshal number {number} into Go struct field HorizontalPodAutoscalerSpec.spec.maxReplicas "
        "of type int32"
    )
