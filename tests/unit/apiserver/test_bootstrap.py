"""What a start of the server does to the objects every cluster has, where a cluster is there already."""

from __future__ import annotations

import random
from collections.abc import Callable

from apiserver.auth.authentication import User
from apiserver.bootstrap import bootstrap
from apiserver.registry.context import Context
from apiserver.registry.options import DeleteOptions
from apiserver.registry.registry import Registry
from apiserver.server import ApiServer
from apiserver.storage.memory import MemoryStorage
from kubeloop.apimachinery.meta import Object, deep_copy
from kubeloop.testing import virtual_time

RBAC = "rbac.authorization.k8s.io"
ROOT = User("root", groups=("system:masters",))
PROTECTED = {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}


def after_restart(kind_name: str, name: str, change: Callable[[Object], None]) -> Object:
    """An object of the bootstrap policy, changed by somebody, as the next start of the server leaves it."""

    async def run() -> Object:
        server = ApiServer(MemoryStorage(), virtual_time.LoopClock(), random.Random(1))
        async with server.running():
            registry = server.registry
            kind = registry.catalog.by_kind(RBAC, kind_name)
            assert kind is not None
            store, context = registry.store(kind), Context(ROOT, name=name, field_manager="test")
            obj = deep_copy((await store.get(context)).object())
            change(obj)
            await _replace(registry, kind_name, obj)
            await bootstrap(registry)
            return (await store.get(context)).object()

    return virtual_time.run(run())


async def _replace(registry: Registry, kind_name: str, obj: Object) -> None:
    """By delete and create, so that a roleRef may change."""
    kind = registry.catalog.by_kind(RBAC, kind_name)
    assert kind is not None
    context = Context(ROOT, name=obj["metadata"]["name"], field_manager="test")
    await registry.deleter(kind).delete(context, DeleteOptions())
    for field in ("resourceVersion", "uid"):
        obj["metadata"].pop(field)
    await registry.store(kind).create(obj, context)


def test_a_start_with_everything_in_place_writes_nothing() -> None:
    """No revision is spent on what is as it should be."""

    async def run() -> tuple[int, int]:
        server = ApiServer(MemoryStorage(), virtual_time.LoopClock(), random.Random(1))
        async with server.running():
            before = server.cache.revision
            await bootstrap(server.registry)
            await server.cache.fresh()
            return before, server.cache.revision

    before, after = virtual_time.run(run())
    assert before == after


def test_a_role_gets_back_what_it_lacks_and_keeps_what_it_has_more() -> None:
    """Rules and labels are added, and nobody's own rules are taken."""
    more = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["things"]}

    def change(role: Object) -> None:
        role["rules"] = [more]
        role["metadata"]["labels"] = {"own": "label"}

    role = after_restart("ClusterRole", "system:kube-dns", change)

    assert more == role["rules"][0]
    assert [{"apiGroups": [""], "resources": [what], "verbs": [verb]} for what in ("endpoints", "services")
            for verb in ("list", "watch")] == role["rules"][1:]  # fmt: skip
    assert {"own": "label", "kubernetes.io/bootstrapping": "rbac-defaults"} == role["metadata"]["labels"]


def test_a_role_that_gathers_keeps_gathering() -> None:
    """Its rules are what it gathered: only the selectors are put back."""

    def change(role: Object) -> None:
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"own": "true"}}]}
        role["rules"] = []

    role = after_restart("ClusterRole", "view", change)

    selectors = role["aggregationRule"]["clusterRoleSelectors"]
    wanted = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    assert [{"matchLabels": {"own": "true"}}, {"matchLabels": wanted}] == selectors
    assert [] == role["rules"]


def test_a_binding_gets_back_its_subjects_and_its_role() -> None:
    """Subjects are added; a binding of another role is made anew."""
    alice = {"kind": "User", "apiGroup": RBAC, "name": "alice"}

    def with_others(binding: Object) -> None:
        binding["subjects"] = [alice]

    def elsewhere(binding: Object) -> None:
        binding["subjects"] = [alice]
        binding["roleRef"]["name"] = "view"

    kept = after_restart("ClusterRoleBinding", "system:discovery", with_others)
    anew = after_restart("ClusterRoleBinding", "system:discovery", elsewhere)

    everybody = {"kind": "Group", "apiGroup": RBAC, "name": "system:authenticated"}
    assert [alice, everybody] == kept["subjects"]
    assert ([everybody], "system:discovery") == (anew["subjects"], anew["roleRef"]["name"])


def test_what_is_protected_stays_as_it_is() -> None:
    """The annotation autoupdate=false is the owner's word."""

    def change(role: Object) -> None:
        role["rules"] = []
        role["metadata"].update(PROTECTED)

    def elsewhere(binding: Object) -> None:
        binding["roleRef"]["name"] = "view"
        binding["metadata"].update(PROTECTED)

    assert [] == after_restart("ClusterRole", "system:kube-dns", change)["rules"]
    assert "view" == after_restart("ClusterRoleBinding", "system:discovery", elsewhere)["roleRef"]["name"]
