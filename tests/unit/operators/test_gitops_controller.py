"""The GitOps controller: commits, drift, pruning, deletion, refusals and crashes, on virtual time."""

from __future__ import annotations

import json

import pytest

from examples.operators.gitops.application import APPLICATIONS, SYNC_REQUEST, TRACKING
from kubeloop.apimachinery.resource import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES
from kubeloop.client.api import APPLY
from tests.unit.operators.applications import (
    WIDGETS,
    GitOps,
    a_config_map,
    an_application,
    condition,
    entries,
    run_gitops,
)

MINE = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "default"}})
WIDGET = json.dumps({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "one"}})
WIDGET_DEFINITION = json.dumps(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
)


def test_a_commit_is_applied_and_reported() -> None:
    """Objects are there with their marks, the status says of which commit, and a second commit follows by itself."""

    async def check(gitops: GitOps) -> None:
        first = gitops.commit(a_config_map("a", key="1"), a_config_map("b", key="1"))
        await gitops.create(an_application())
        application = await gitops.reported("Synced", first)
        applied = await gitops.api.get(CONFIG_MAPS, "a", "default")
        second = gitops.commit(a_config_map("a", key="2"), a_config_map("b", key="1"))
        await gitops.reported("Synced", second)

        assert {"a": ("Synced", "Healthy", ""), "b": ("Synced", "Healthy", "")} == entries(application)
        assert {"status": "Healthy"} == application["status"]["health"]
        assert ("True", "Synced", f"as of {first}") == condition(application, "Synced")
        assert ("True", "Read", f"main is {first}") == condition(application, "SourceReady")
        assert "web" == applied["metadata"]["labels"][TRACKING]
        assert "default/web" == applied["metadata"]["annotations"][TRACKING]
        assert ["gitops:default/web"] == [entry["manager"] for entry in applied["metadata"]["managedFields"]]
        assert {"key": "2"} == await gitops.data("a")

    run_gitops(check)


def test_a_quiet_cluster_is_written_to_by_nobody() -> None:
    """Once all is as in Git, passes go on and send no request that writes, not even a dry run."""

    async def check(gitops: GitOps) -> None:
        commit = gitops.commit(a_config_map("a", key="1"), a_config_map("b", key="1"))
        await gitops.create(an_application())
        await gitops.reported("Synced", commit)
        await gitops.cluster.clock.sleep(30)
        before = len(gitops.cluster.writes)

        await gitops.cluster.clock.sleep(300)

        assert [] == gitops.cluster.writes[before:]

    run_gitops(check)


def test_a_restarted_controller_compares_each_object_once() -> None:
    """By a dry run; afterwards it is as quiet as before."""

    async def check(gitops: GitOps) -> None:
        await gitops.reported_after_creation(an_application(), a_config_map("a"), a_config_map("b"))
        await gitops.cluster.stop("gitops")
        before = len(gitops.cluster.writes)
        gitops.cluster.start("gitops")

        await gitops.cluster.clock.sleep(300)

        targets = [write.target.partition("?") for write in gitops.cluster.writes[before:]]
        assert [True, True] == ["dryRun=All" in query for _, _, query in targets]

    run_gitops(check)


def test_what_the_server_spells_otherwise_is_no_difference() -> None:
    """Defaults, quantities, and what kubectl's dry run leaves in a manifest: compared as the server sees them."""

    async def check(gitops: GitOps) -> None:
        container = {"name": "web", "image": "web:1", "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}
        container["ports"] = [{"containerPort": 80}]
        template = {
            "metadata": {"labels": {"app": "web"}, "creationTimestamp": None},
            "spec": {"containers": [container]},
        }
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "creationTimestamp": None},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "strategy": {}, "template": template},
            "status": {},
        }
        await gitops.reported_after_creation(an_application(), json.dumps(deployment))
        created = await gitops.api.get(DEPLOYMENTS, "web", "default")
        gitops.cluster.cut_off("gitops")

        await gitops.cluster.clock.sleep(60)

        assert created == await gitops.api.get(DEPLOYMENTS, "web", "default")
        assert {"web": ("Synced", "Progressing", "waiting for the controller to observe the newest spec")} == entries(
            await gitops.application()
        )

    run_gitops(check)


@pytest.mark.parametrize("writes", [1, 3, 5])
def test_an_api_server_that_goes_away_in_the_middle_of_a_sync(writes: int) -> None:
    """The pass is begun again when it is back, and nothing is told as a failure of the manifests."""

    async def check(gitops: GitOps) -> None:
        commit = gitops.commit(a_config_map("a"), a_config_map("b"), a_config_map("c"))
        await gitops.create(an_application())
        await gitops.cluster.eventually(lambda: gitops.writes() >= writes, every_seconds=0.0001)
        await gitops.cluster.stop_server()
        await gitops.cluster.clock.sleep(30)
        await gitops.cluster.start_server()

        await gitops.reported("Synced", commit)
        await gitops.cluster.settled()

        assert ["a", "b", "c"] == sorted(entries(await gitops.application()))
        assert "Warning" not in [type_ for type_, _ in await gitops.events()]

    run_gitops(check)


@pytest.mark.parametrize("how", ["edited", "deleted", "unlabelled"])
def test_drift_is_undone(how: str) -> None:
    """By whatever hand, and told as an event."""

    async def check(gitops: GitOps) -> None:
        commit = gitops.commit(a_config_map("a", key="1"))
        await gitops.create(an_application())
        await gitops.reported("Synced", commit)

        if how == "edited":
            await gitops.api.patch(CONFIG_MAPS, "a", {"data": {"key": "9"}}, "default", field_manager="kubectl-edit")
        elif how == "deleted":
            await gitops.api.delete(CONFIG_MAPS, "a", "default")
        else:
            marks = {"labels": {TRACKING: None}, "annotations": {TRACKING: None}}
            await gitops.api.patch(CONFIG_MAPS, "a", {"metadata": marks}, "default")

        async def is_healed() -> bool:
            found = [one for one in await gitops.cluster.list(CONFIG_MAPS, "default", TRACKING) if one["data"]]
            return [{"key": "1"}] == [one["data"] for one in found]

        await gitops.cluster.eventually(is_healed)
        await gitops.reported("Synced", commit)
        await gitops.cluster.settled()
        assert ("Normal", "SelfHealed") in await gitops.events()

    run_gitops(check)


def test_undone_drift_is_told_though_the_status_comes_too_late() -> None:
    """Somebody writes into the Application while it is undone: the pass after the conflict finds nothing to undo."""

    async def check(gitops: GitOps) -> None:
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
        await gitops.reported_after_creation(an_application(), json.dumps(deployment))
        counted = ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        status = {"status": dict.fromkeys(counted, 1)}
        await gitops.api.patch(DEPLOYMENTS, "web", status, "default", subresource="status")

        async def is_healthy() -> bool:
            return {"status": "Healthy"} == (await gitops.application())["status"]["health"]

        def is_undone() -> bool:
            """The write is sent; what the pass sends next is under way for a second."""
            written = [write for write in gitops.cluster.writes[before:] if write.process == "gitops"]
            return any("/deployments/web?" in write.target and "dryRun" not in write.target for write in written)

        await gitops.cluster.eventually(is_healthy)
        before = len(gitops.cluster.writes)
        await gitops.api.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 9}}, "default", field_manager="kubectl-edit")
        gitops.cluster.latency_seconds = 1.0
        await gitops.cluster.eventually(is_undone)
        gitops.cluster.latency_seconds = 0.0
        await gitops.api.patch(APPLICATIONS, "web", {"metadata": {"labels": {"seen": "yes"}}}, "default")
        await gitops.cluster.settled()

        assert ("Normal", "SelfHealed") in await gitops.events()

    run_gitops(check)


def test_fields_that_git_does_not_speak_of_belong_to_others() -> None:
    """They are no drift, as in all of server-side apply."""

    async def check(gitops: GitOps) -> None:
        commit = gitops.commit(a_config_map("a", key="1"))
        await gitops.create(an_application())
        await gitops.reported("Synced", commit)
        await gitops.api.patch(CONFIG_MAPS, "a", {"data": {"other": "x"}}, "default")

        await gitops.cluster.clock.sleep(60)

        assert {"key": "1", "other": "x"} == await gitops.data("a")
        await gitops.reported("Synced", commit)

    run_gitops(check)


def test_without_self_heal_drift_is_told_and_left() -> None:
    """Until the next commit, which is applied over it."""

    async def check(gitops: GitOps) -> None:
        first = gitops.commit(a_config_map("a", key="1"))
        await gitops.create(an_application(policy={"automated": True}))
        await gitops.reported("Synced", first)
        await gitops.api.patch(CONFIG_MAPS, "a", {"data": {"key": "9"}}, "default")

        application = await gitops.reported("OutOfSync", first)
        assert ("False", "OutOfSync", "ConfigMap default/a: differs") == condition(application, "Synced")
        await gitops.cluster.clock.sleep(60)
        assert {"key": "9"} == await gitops.data("a")

        await gitops.reported("Synced", gitops.commit(a_config_map("a", key="2")))
        assert {"key": "2"} == await gitops.data("a")

    run_gitops(check)


def test_without_automation_nothing_is_written_until_it_is_asked_for() -> None:
    """A new value of the annotation asks once."""

    async def check(gitops: GitOps) -> None:
        first = gitops.commit(a_config_map("a", key="1"))
        await gitops.create(an_application(policy={}))
        application = await gitops.reported("OutOfSync", first)
        assert {"a": ("OutOfSync", "Missing", "")} == entries(application)
        assert await gitops.data("a") is None

        request = {"metadata": {"annotations": {SYNC_REQUEST: "1"}}}
        await gitops.api.patch(APPLICATIONS, "web", request, "default")
        await gitops.reported("Synced", first)

        second = gitops.commit(a_config_map("a", key="2"))
        application = await gitops.reported("OutOfSync", second)
        assert {"key": "1"} == await gitops.data("a")
        assert (first, "1") == tuple(application["status"]["lastSync"][field] for field in ("revision", "request"))

    run_gitops(check)


def test_what_git_has_no_more_is_pruned() -> None:
    """And leaves the inventory; what somebody else made stays."""

    async def check(gitops: GitOps) -> None:
        await gitops.reported_after_creation(an_application(), a_config_map("a"), a_config_map("b"))
        await gitops.cluster.create({**json.loads(MINE)})

        application = await gitops.reported("Synced", gitops.commit(a_config_map("a")))

        assert await gitops.data("b") is None
        assert {} == await gitops.data("mine")
        assert ["a"] == [entry["name"] for entry in application["status"]["inventory"]]
        await gitops.cluster.settled()
        assert ("Normal", "Pruned") in await gitops.events()

    run_gitops(check)


def test_without_prune_what_is_left_over_is_told() -> None:
    """It stays in the inventory, marked, and is pruned once the policy says so."""

    async def check(gitops: GitOps) -> None:
        policy = {"automated": True}
        await gitops.reported_after_creation(an_application(policy=policy), a_config_map("a"), a_config_map("b"))
        second = gitops.commit(a_config_map("a"))
        application = await gitops.reported("OutOfSync", second)

        marked = [one["name"] for one in application["status"]["resources"] if one.get("requiresPruning")]
        assert ["b"] == marked
        assert ("False", "OutOfSync", "ConfigMap default/b: is not in Git") == condition(application, "Synced")

        await gitops.api.patch(APPLICATIONS, "web", {"spec": {"syncPolicy": {"prune": True}}}, "default")
        await gitops.reported("Synced", second)
        assert await gitops.data("b") is None

    run_gitops(check)


def test_nothing_is_pruned_while_a_manifest_cannot_be_read() -> None:
    """The object might be in what was not understood; the rest is applied all the same, and the error told."""

    async def check(gitops: GitOps) -> None:
        await gitops.reported_after_creation(an_application(), a_config_map("a"), a_config_map("b"))
        broken = gitops.commit(a_config_map("a", key="new"), bad_yaml="data: [x")
        application = await gitops.reported("OutOfSync", broken)

        assert {"key": "new"} == await gitops.data("a")
        assert {} == await gitops.data("b")
        told = "bad.yaml: error parsing: yaml: line 1: did not find expected ',' or ']'"
        assert ("False", "InvalidManifests", told) == condition(application, "SourceReady")
        assert ("False", "SyncFailed", f"{told}\nConfigMap default/b: is not in Git") == condition(
            application, "Synced"
        )

        await gitops.reported("Synced", gitops.commit(a_config_map("a", key="new")))
        assert await gitops.data("b") is None

    run_gitops(check)


def test_what_kubernetes_refuses_is_told_in_its_words() -> None:
    """An invalid object, an unknown kind, a missing namespace: each for itself, while the rest is applied."""

    async def check(gitops: GitOps) -> None:
        invalid = a_config_map("a").replace("name: a", "name: A_B")
        elsewhere = a_config_map("c").replace("name: c", "name: c\n  namespace: nowhere")
        commit = gitops.commit(invalid, WIDGET, elsewhere, a_config_map("ok"))
        await gitops.create(an_application())
        application = await gitops.reported("OutOfSync", commit)

        found = entries(application)
        assert ("Synced", "Healthy", "") == found["ok"]
        assert ("OutOfSync", "Missing", 'namespaces "nowhere" not found') == found["c"]
        assert ("OutOfSync", "Missing", 'no matches for kind "Widget" in version "example.com/v1"') == found["one"]
        assert found["A_B"][2].startswith(
            'ConfigMap "A_B" is invalid: metadata.name: Invalid value: "A_B": a lowercase'
        )
        status, reason, message = condition(application, "Synced")
        assert ("False", "SyncFailed", 3) == (status, reason, len(message.splitlines()))
        assert "Failed" == application["status"]["lastSync"]["phase"]
        await gitops.cluster.settled()
        assert ("Warning", "SyncFailed") in await gitops.events()

    run_gitops(check)


def test_what_is_forbidden_is_told_in_its_words() -> None:
    """Here by Pod Security; once it is allowed, the next pass does it."""

    async def check(gitops: GitOps) -> None:
        labels = {"pod-security.kubernetes.io/enforce": "baseline"}
        await gitops.cluster.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x", "labels": labels}}
        )
        await gitops.cluster.add_service_account("x")
        spec = {"hostNetwork": True, "containers": [{"name": "c", "image": "c"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x"}, "spec": spec}
        commit = gitops.commit(json.dumps(pod), a_config_map("ok"))
        await gitops.create(an_application())
        application = await gitops.reported("OutOfSync", commit)

        assert entries(application)["p"][2].startswith('pods "p" is forbidden: violates PodSecurity "baseline:latest"')
        assert {} == await gitops.data("ok")

        await gitops.api.patch(NAMESPACES, "x", {"metadata": {"labels": {next(iter(labels)): "privileged"}}})
        await gitops.reported("Synced", commit)

    run_gitops(check)


def test_fields_that_others_apply_are_not_taken() -> None:
    """The conflict is told as Kubernetes words it; the policy may force it."""

    async def check(gitops: GitOps) -> None:
        theirs = json.loads(MINE) | {"data": {"key": "theirs"}}
        await gitops.api.patch(CONFIG_MAPS, "mine", theirs, "default", patch_type=APPLY, field_manager="bob")
        commit = gitops.commit(a_config_map("mine", key="ours"))
        await gitops.create(an_application())

        application = await gitops.reported("OutOfSync", commit)
        told = 'Apply failed with 1 conflict: conflict with "bob": .data.key'
        assert {"mine": ("OutOfSync", "Healthy", told)} == entries(application)
        assert {"key": "theirs"} == await gitops.data("mine")

        await gitops.api.patch(APPLICATIONS, "web", {"spec": {"syncPolicy": {"forceConflicts": True}}}, "default")
        await gitops.reported("Synced", commit)
        assert {"key": "ours"} == await gitops.data("mine")

    run_gitops(check)


def test_a_field_that_somebody_else_begins_to_apply_is_no_drift() -> None:
    """Two who declare it can only settle it among themselves; anybody else is overruled."""

    async def check(gitops: GitOps) -> None:
        commit = await gitops.reported_after_creation(an_application(), a_config_map("mine", key="ours"))
        theirs = json.loads(MINE) | {"data": {"key": "theirs"}}
        await gitops.api.patch(
            CONFIG_MAPS, "mine", theirs, "default", patch_type=APPLY, field_manager="bob", force=True
        )

        application = await gitops.reported("OutOfSync", commit)
        assert 'conflict with "bob": .data.key' in entries(application)["mine"][2]
        await gitops.cluster.clock.sleep(60)
        assert {"key": "theirs"} == await gitops.data("mine")

    run_gitops(check)


def test_two_applications_cannot_have_one_object() -> None:
    """The first keeps it, and the second is told who has it; its deletion leaves the object alone."""

    async def check(gitops: GitOps) -> None:
        commit = await gitops.reported_after_creation(an_application(), a_config_map("a", key="1"))
        before = await gitops.api.get(CONFIG_MAPS, "a", "default")
        await gitops.create(an_application("rival"))
        rival = await gitops.reported("OutOfSync", commit, "rival")
        assert 'conflicts with "gitops:default/web":' in entries(rival)["a"][2]

        await gitops.api.delete(APPLICATIONS, "rival", "default")
        await gitops.gone("rival")
        assert before == await gitops.api.get(CONFIG_MAPS, "a", "default")
        await gitops.reported("Synced", commit)

    run_gitops(check)


def test_namespaces_and_definitions_come_first() -> None:
    """Whatever their order in Git; objects of a kind wait until it is served."""

    async def check(gitops: GitOps) -> None:
        namespace = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}})
        inside = a_config_map("inside").replace("name: inside", "name: inside\n  namespace: new")
        commit = gitops.commit(WIDGET, inside, WIDGET_DEFINITION, namespace)
        await gitops.create(an_application())
        application = await gitops.reported("Synced", commit)

        names = [entry["name"] for entry in application["status"]["resources"]]
        assert ["new", "widgets.example.com", "inside", "one"] == names
        assert "one" == (await gitops.api.get(WIDGETS, "one", "default"))["metadata"]["name"]
        await gitops.cluster.settled()
        assert {"Normal"} == {type_ for type_, _ in await gitops.events()}

    run_gitops(check)


def test_a_definition_goes_with_its_objects() -> None:
    """Pruned in the opposite order; a kind that is not served any more has no objects."""

    async def check(gitops: GitOps) -> None:
        await gitops.reported_after_creation(an_application(), WIDGET_DEFINITION, WIDGET, a_config_map("a"))

        application = await gitops.reported("Synced", gitops.commit(a_config_map("a")))

        assert ["a"] == [entry["name"] for entry in application["status"]["inventory"]]

    run_gitops(check)


@pytest.mark.parametrize(
    ("repository", "path", "revision", "told"),
    [
        ("/elsewhere", ".", "main", "cannot change to '/elsewhere'"),
        ("/repository", "nowhere", "main", "Not a valid object name"),
        ("/repository", ".", "nowhere", "Needed a single revision"),
    ],
)
def test_a_source_that_cannot_be_read_is_told(repository: str, path: str, revision: str, told: str) -> None:
    """What was applied stays; once it can be read the Application goes on."""

    async def check(gitops: GitOps) -> None:
        commit = await gitops.reported_after_creation(an_application(), a_config_map("a"))
        wrong = {"repoURL": repository, "path": path, "targetRevision": revision}
        await gitops.api.patch(APPLICATIONS, "web", {"spec": {"source": wrong}}, "default")

        application = await gitops.reported("Unknown", commit)
        status, reason, message = condition(application, "SourceReady")
        assert ("False", "SourceFailed") == (status, reason)
        assert told in message
        assert {} == await gitops.data("a")

        await gitops.api.patch(APPLICATIONS, "web", {"spec": an_application()["spec"]}, "default")
        await gitops.reported("Synced", commit)

    run_gitops(check)


def test_with_the_application_goes_what_it_applied() -> None:
    """And only that; the Application is there until all has gone."""

    async def check(gitops: GitOps) -> None:
        await gitops.cluster.create(json.loads(MINE))
        kept = a_config_map("kept").replace("name: kept", "name: kept\n  finalizers: [example.com/wait]")
        await gitops.reported_after_creation(an_application(), a_config_map("a"), kept)

        await gitops.api.delete(APPLICATIONS, "web", "default")

        async def waits() -> bool:
            return condition(await gitops.application(), "Synced")[1] == "Deleting"

        await gitops.cluster.eventually(waits)
        assert await gitops.data("a") is None
        assert ["kept"] == [entry["name"] for entry in (await gitops.application())["status"]["inventory"]]
        await gitops.api.patch(CONFIG_MAPS, "kept", {"metadata": {"finalizers": None}}, "default")
        await gitops.gone("web")
        assert {} == await gitops.data("mine")

    run_gitops(check)


@pytest.mark.parametrize("writes", range(1, 7))  # the finalizer, the inventory, three objects, the status
def test_killed_in_the_middle_of_a_sync_nothing_is_left_behind(writes: int) -> None:
    """After any number of its writes: what was applied of the old commit is pruned, what is missing is applied."""

    async def check(gitops: GitOps) -> None:
        gitops.commit(a_config_map("a"), a_config_map("b"), a_config_map("c"))
        await gitops.create(an_application())
        await gitops.cluster.eventually(lambda: gitops.writes() >= writes, every_seconds=0.0001)
        await gitops.cluster.stop("gitops")
        commit = gitops.commit(a_config_map("c"), a_config_map("d"))
        gitops.cluster.start("gitops")

        await gitops.reported("Synced", commit)

        assert ["c", "d"] == sorted(
            one["metadata"]["name"] for one in await gitops.cluster.list(CONFIG_MAPS, "default", TRACKING)
        )

    run_gitops(check)


def test_deleted_while_the_controller_is_away() -> None:
    """The finalizer holds the Application until somebody has cleaned up."""

    async def check(gitops: GitOps) -> None:
        await gitops.reported_after_creation(an_application(), a_config_map("a"))
        await gitops.cluster.stop("gitops")
        await gitops.api.delete(APPLICATIONS, "web", "default")
        assert {} == await gitops.data("a")

        gitops.cluster.start("gitops")

        await gitops.gone("web")
        assert await gitops.data("a") is None

    run_gitops(check)
