"""Custom objects while their conversion webhook does not answer, and what is counted."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.cluster import Cluster
from tests.testkit.conversion_hook import DOWN, Hook, get, patch, with_hook
from tests.testkit.converting import NEW, OLD, a_route


def test_a_webhook_that_is_down_fails_what_needs_it_until_it_is_back() -> None:
    """Reads, lists, writes and deletions of the other version are refused in upstream's words; nothing is lost."""

    async def check(cluster: Cluster, hook: Hook) -> Object:
        await cluster.create(a_route(host="h", port=1), NEW)
        hook.is_down = True
        text = f"conversion webhook for example.com/v1, Kind=Route {DOWN}"
        for refused in (
            get(cluster, OLD),
            cluster.list(OLD, "default"),
            patch(cluster, OLD, {"spec": {"size": 1}}),
            cluster.api.delete(OLD, "a", "default"),
            get(cluster, OLD, subresource="scale"),
        ):
            with pytest.raises(ApiError) as caught:
                await refused
            assert (500, "") == (caught.value.code, caught.value.reason)
            assert caught.value.message.startswith(text)
        with pytest.raises(ApiError, match=f"example.com/v1alpha1, Kind=Route {DOWN}".replace("?", r"\?")):
            await cluster.create(a_route("b", OLD, hostPort="x:1"), OLD)
        with pytest.raises(NotFound):
            await get(cluster, NEW, "b")
        hook.is_down = False
        return await get(cluster, OLD)

    assert "h:1" == with_hook(check)["spec"]["hostPort"]


def test_ownership_is_given_up_where_it_cannot_be_worked_out() -> None:
    """A write that needs no conversion succeeds without the webhook; the entries are lost by it, as upstream."""

    async def check(cluster: Cluster, hook: Hook) -> Object:
        await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        hook.is_down = True
        return await patch(cluster, NEW, {"spec": {"port": 2}})

    changed = with_hook(check)

    assert (2, None) == (changed["spec"]["port"], changed["metadata"].get("managedFields"))


def test_conversions_are_counted() -> None:
    """By definition, versions and outcome, under upstream's names."""

    async def check(cluster: Cluster, hook: Hook) -> str:
        await cluster.create(a_route(host="h"), NEW)
        await get(cluster, OLD)
        hook.is_down = True
        await patch(cluster, NEW, {"spec": {"port": 2}})
        with pytest.raises(ApiError):
            await get(cluster, OLD)
        return str(await cluster.api.request("GET", "/metrics"))

    text = with_hook(check)

    labels = 'crd_name="routes.example.com",from_version="v1",succeeded="{}",to_version="v1alpha1"'
    for outcome in ("true", "false"):
        name = "apiserver_crd_conversion_webhook_duration_seconds_count"
        assert f"{name}{{{labels.format(outcome)}}} 1" in text
    failed = 'failure_type="conversion_webhook_call_failure",result="failure"'
    assert f"apiserver_conversion_webhook_request_total{{{failed}}} 1" in text
    assert 'apiserver_conversion_webhook_duration_seconds_count{failure_type="",result="success"} 1' in text
