"""What a quota's status has to be after a recount."""

import pytest

from controllers.resource_quota import plan
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.workloads import NOW, a_pod


def a_quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: object) -> Object:
    status = {} if used is None else {"hard": hard, "used": used}
    return {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": hard, **spec}, "status": status}


def requesting(cpu: str, **fields: object) -> Object:
    pod = a_pod(f"p{cpu}", **fields)
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return pod


@pytest.mark.parametrize(
    ("hard", "scopes", "expected"),
    [
        ({"pods": "5", "requests.cpu": "2"}, [], {"pods": "2", "requests.cpu": "350m"}),
        ({"count/pods": "5"}, [], {"count/pods": "3"}),
        ({"pods": "5"}, ["Terminating"], {"pods": "1"}),
        ({"pods": "5", "unheard.of": "1"}, [], {"pods": "2"}),
    ],
)
def test_used_is_the_sum_over_what_is_there(hard: dict[str, str], scopes: list[str], expected: dict[str, str]) -> None:
    """Finished pods only count as objects, scopes pick pods, and what nobody can count is left out."""
    pods = [requesting("100m"), requesting("250m", spec={"activeDeadlineSeconds": 9}), requesting("1", phase="Failed")]

    status = plan.status(a_quota(hard, scopes=scopes), {"pods": pods}, NOW)

    assert {"hard": hard, "used": expected} == status


def test_what_cannot_be_counted_now_keeps_its_usage() -> None:
    """A resource that is not served any more is not taken for empty; limits that are gone are forgotten."""
    quota = a_quota({"pods": "5", "count/widgets.example.com": "4"}, {"count/widgets.example.com": "3", "secrets": "1"})

    status = plan.status(quota, {"pods": []}, NOW)

    assert {"count/widgets.example.com": "3", "pods": "0"} == status["used"]


def test_equal_amounts_need_no_write() -> None:
    """However they are spelled; a status without usage is never up to date."""
    wanted = {"hard": {"requests.cpu": "1000m"}, "used": {"requests.cpu": "500m"}}

    assert plan.is_up_to_date(a_quota({"requests.cpu": "1"}, {"requests.cpu": "0.5"}), wanted)
    assert not plan.is_up_to_date(a_quota({"requests.cpu": "1"}, {"requests.cpu": "0.6"}), wanted)
    assert not plan.is_up_to_date(a_quota({"requests.cpu": "1"}), wanted)


@pytest.mark.parametrize(
    ("changed", "scopes", "expected"),
    [
        ({"status": {"phase": "Succeeded"}}, [], True),
        ({"metadata": {"labels": {"app": "other"}}}, [], False),
        ({"spec": {"containers": [{"name": "c"}], "activeDeadlineSeconds": 5}}, ["Terminating"], True),
        ({"spec": {"containers": [{"name": "c"}], "activeDeadlineSeconds": 5}}, [], False),
    ],
)
def test_only_changes_of_cost_or_scope_matter(changed: Object, scopes: list[str], expected: bool) -> None:
    """Other updates of an object do not make its quotas count again."""
    pod = a_pod()

    quota = a_quota({"pods": "5"}, scopes=scopes)

    assert expected == plan.is_counted_otherwise(quota, "pods", pod, {**pod, **changed}, NOW)


def test_events_are_never_counted() -> None:
    """A quota on them is a quota on nothing."""
    assert ["pods"] == plan.counted(a_quota({"count/events": "1", "requests.cpu": "1"}))
