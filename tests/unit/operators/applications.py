"""The GitOps controller on the virtual-time cluster, with a repository in memory."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import yaml

from examples.operators.gitops.application import APPLICATIONS
from examples.operators.gitops.controller import add_to
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CONFIG_MAPS, EVENTS, Resource
from kubeloop.testing.cluster import Cluster, Process, a_loop, run_cluster
from tests.testkit.git_repositories import MemoryGit
from tests.testkit.operators import install

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
EVERYTHING = {"automated": True, "prune": True, "selfHeal": True}


def a_config_map(name: str, **data: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def an_application(
    name: str = "web", *, policy: Object | None = None, path: str = ".", revision: str = "main"
) -> Object:
    return {
        "apiVersion": APPLICATIONS.api_version,
        "kind": "Application",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "source": {"repoURL": "/repository", "path": path, "targetRevision": revision},
            "destination": {"namespace": "default"},
            "syncPolicy": EVERYTHING if policy is None else policy,
        },
    }


class GitOps:
    """What tests do: commit, and wait for what an Application reports."""

    def __init__(self, cluster: Cluster, git: MemoryGit) -> None:
        self.cluster, self.git, self.api = cluster, git, cluster.api

    def commit(self, *documents: str, **files: str) -> str:
        """Documents are one file; others are called as their keywords, `_` for the dot."""
        named = {name.replace("_", "."): content for name, content in files.items()}
        return self.git.commit({"all.yaml": "\n---\n".join(documents), **named})

    async def create(self, application: Object) -> Object:
        return await self.cluster.create(application, APPLICATIONS)

    async def application(self, name: str = "web") -> Object:
        return await self.api.get(APPLICATIONS, name, "default")

    async def reported(self, sync: str, commit: str, name: str = "web") -> Object:
        """The Application as soon as its status says this of that commit."""

        async def found() -> Object | None:
            application = await self.application(name)
            status = application.get("status") or {}
            return application if status.get("sync") == {"status": sync, "revision": commit} else None

        found_application = await self.cluster.eventually(found)
        assert found_application is not None
        return found_application

    async def reported_after_creation(self, application: Object, *documents: str) -> str:
        """Commit, create, and wait until all is as in Git; returns the commit."""
        commit = self.commit(*documents)
        await self.create(application)
        await self.reported("Synced", commit)
        return commit

    async def gone(self, name: str) -> None:
        async def is_gone() -> bool:
            found = await self.cluster.list(APPLICATIONS, "default")
            return name not in [each["metadata"]["name"] for each in found]

        await self.cluster.eventually(is_gone)

    def writes(self) -> int:
        """How many requests of the controller's would change something, or try to."""
        return sum(write.process == "gitops" for write in self.cluster.writes)

    async def data(self, name: str) -> Any:
        """Of a ConfigMap; None where there is none."""
        found = [each for each in await self.cluster.list(CONFIG_MAPS, "default") if each["metadata"]["name"] == name]
        return found[0].get("data", {}) if found else None

    async def eventually_data(self, name: str, expected: Any) -> None:
        async def is_so() -> bool:
            return await self.data(name) == expected

        await self.cluster.eventually(is_so)

    async def events(self) -> list[tuple[str, str]]:
        """Type and reason of what was told, in order."""
        events = await self.cluster.list(EVENTS, "default")
        return [(event["type"], event["reason"]) for event in events]


def condition(application: Object, type_: str) -> tuple[str, str, str]:
    found = get_condition(conditions_of(application), type_) or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def entries(application: Object) -> dict[str, tuple[str, str, str]]:
    """Of status.resources by name: sync, health and message."""
    listed = application["status"]["resources"]
    return {one["name"]: (one["status"], one["health"], one.get("message", "")) for one in listed}


def run_gitops(
    check: Callable[[GitOps], Coroutine[Any, Any, None]], processes: dict[str, Process] | None = None
) -> None:
    """With the API server, the controller, and whatever loops a test needs besides."""
    git = MemoryGit()

    async def with_definition(cluster: Cluster) -> None:
        await install(cluster, "gitops")
        await check(GitOps(cluster, git))

    controller = a_loop(lambda manager: add_to(manager, git))
    run_cluster(with_definition, processes={"gitops": controller, **(processes or {})})
