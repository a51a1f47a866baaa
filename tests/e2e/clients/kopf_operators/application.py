"""The Application operator as it is written with kopf and the official client: `kopf run application.py`."""

from __future__ import annotations

import datetime
import subprocess
from typing import Any

import kopf
import kubernetes
import yaml
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import DynamicApiError, NotFoundError, ResourceNotFoundError

APPLICATIONS = ("gitops.example.com", "v1alpha1", "applications")
FIELD_MANAGER = "kopf-gitops"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.persistence.finalizer = "gitops.example.com/prune"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="gitops.example.com")
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix="gitops.example.com")


@kopf.timer(*APPLICATIONS, interval=0.5)
def sync(spec: kopf.Spec, status: kopf.Status, patch: kopf.Patch, body: kopf.Body, **_: Any) -> None:
    """Apply all of it each time: server-side apply writes only where something differs."""
    client = DynamicClient(kubernetes.client.ApiClient())
    source = spec["source"]
    try:
        commit = git(source["repoURL"], "rev-parse", "--verify", f"{source['targetRevision']}^{{commit}}").strip()
        manifests = list(read_manifests(source["repoURL"], commit, source["path"]))
    except (subprocess.CalledProcessError, yaml.YAMLError) as error:
        patch.status["sync"] = {"status": "Unknown", "revision": status.get("sync", {}).get("revision", "")}
        report(patch, status, "SourceReady", False, "SourceFailed", getattr(error, "stderr", None) or str(error))
        return
    report(patch, status, "SourceReady", True, "Read", f"{source['targetRevision']} is {commit}")
    resources = [apply(client, manifest, spec["destination"]["namespace"]) for manifest in manifests]
    wanted = [identity(resource) for resource in resources]
    if spec.get("syncPolicy", {}).get("prune"):
        for entry in status.get("inventory", []):
            if entry not in wanted:
                delete(client, entry)
                kopf.info(body, reason="Pruned", message=f"{entry['kind']} {entry['name']}")
    failures = [f"{one['kind']} {one['name']}: {one['message']}" for one in resources if one["status"] != "Synced"]
    is_healthy = all(one["health"] == "Healthy" for one in resources)
    patch.status["resources"], patch.status["inventory"] = resources, wanted
    patch.status["sync"] = {"status": "OutOfSync" if failures else "Synced", "revision": commit}
    patch.status["health"] = {"status": "Healthy" if is_healthy else "Progressing"}
    told = f"as of {commit}" if not failures else "\n".join(failures)
    report(patch, status, "Synced", not failures, "SyncFailed" if failures else "Synced", told)
    report(patch, status, "Healthy", is_healthy, patch.status["health"]["status"], "")


@kopf.on.delete(*APPLICATIONS)
def prune_all(status: kopf.Status, **_: Any) -> None:
    client = DynamicClient(kubernetes.client.ApiClient())
    for entry in status.get("inventory", []):
        delete(client, entry)


def git(repository: str, *arguments: str) -> str:
    command = ["git", "-C", repository.removeprefix("file://"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def read_manifests(repository: str, commit: str, path: str) -> Any:
    directory = "" if path == "." else f"{path}/"
    for name in git(repository, "ls-tree", "--name-only", f"{commit}:{directory}").splitlines():
        if name.endswith((".yaml", ".yml", ".json")):
            documents = yaml.safe_load_all(git(repository, "show", f"{commit}:{directory}{name}"))
            yield from filter(None, documents)


def apply(client: DynamicClient, manifest: dict[str, Any], namespace: str) -> dict[str, Any]:
    """What status.resources says of it."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    name = manifest["metadata"]["name"]
    entry = {"group": group, "version": version, "kind": manifest["kind"], "namespace": namespace, "name": name}
    try:
        resource = client.resources.get(api_version=manifest["apiVersion"], kind=manifest["kind"])
        applied = client.server_side_apply(
            resource, manifest, namespace=namespace, field_manager=FIELD_MANAGER, force_conflicts=True
        )
    except (DynamicApiError, ResourceNotFoundError) as error:
        return {**entry, "status": "OutOfSync", "health": "Missing", "message": str(error)}
    return {**entry, "status": "Synced", "health": health(applied.to_dict()), "message": ""}


def health(obj: dict[str, Any]) -> str:
    """Of Deployments; other kinds are healthy when they are there."""
    if obj["kind"] != "Deployment":
        return "Healthy"
    wanted, status = obj["spec"]["replicas"], obj.get("status", {})
    is_seen = status.get("observedGeneration", 0) >= obj["metadata"]["generation"]
    is_rolled_out = status.get("updatedReplicas", 0) == status.get("availableReplicas", 0) == wanted
    return "Healthy" if is_seen and is_rolled_out else "Progressing"


def identity(entry: dict[str, Any]) -> dict[str, Any]:
    return {field: entry[field] for field in ("group", "version", "kind", "namespace", "name")}


def delete(client: DynamicClient, entry: dict[str, Any]) -> None:
    api_version = f"{entry['group']}/{entry['version']}" if entry.get("group") else entry["version"]
    try:
        resource = client.resources.get(api_version=api_version, kind=entry["kind"])
        client.delete(resource, name=entry["name"], namespace=entry["namespace"])
    except NotFoundError:
        return


def report(patch: kopf.Patch, status: kopf.Status, type_: str, is_true: bool, reason: str, message: str) -> None:
    """One condition in the list that the patch will write."""
    conditions = patch.status.get("conditions") or [dict(one) for one in status.get("conditions", [])]
    before: dict[str, Any] = next((one for one in conditions if one["type"] == type_), {})
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    since = before["lastTransitionTime"] if before.get("status") == str(is_true) else now
    condition = {"type": type_, "status": str(is_true), "reason": reason, "message": message}
    others = [one for one in conditions if one["type"] != type_]
    patch.status["conditions"] = [*others, {**condition, "lastTransitionTime": since}]
