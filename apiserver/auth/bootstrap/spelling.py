"""A short spelling of roles and bindings, so that the bootstrap policy reads as a table.

role("system:kube-dns", rule("list watch", "endpoints services"))
binding("system:basic-user", groups("system:authenticated"))
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.auth.authorization import Rule
from apiserver.auth.rbac import GROUP
from kubeloop.apimachinery.meta import Object

READ = "get list watch"
WRITE = "create delete deletecollection patch update"
READ_WRITE = f"{READ} {WRITE}"
READ_UPDATE = f"{READ} patch update"

API_VERSION = f"{GROUP}/v1"


def rule(verbs: str, resources: str, group: str = "", names: str = "") -> Rule:
    """A rule on resources: words with blanks between. `group`: several with commas, "" the core group."""
    made: Rule = {
        "verbs": sorted(verbs.split()),
        "apiGroups": sorted(group.split(",")),
        "resources": sorted(resources.split()),
    }
    return {**made, "resourceNames": sorted(names.split())} if names else made


def paths(verbs: str, urls: str) -> Rule:
    """A rule on URL paths."""
    return {"verbs": sorted(verbs.split()), "nonResourceURLs": sorted(urls.split())}


EVENTS = rule("create update patch", "events", ",events.k8s.io")


def role(name: str, *rules: Rule, label: str = "", aggregates: str = "", namespace: str = "") -> Object:
    """A ClusterRole, or a Role where a namespace is given.

    `aggregates`: it gathers the rules of all roles labelled aggregate-to-<this>; `label`: it is gathered by that one.
    """
    made = _object("Role" if namespace else "ClusterRole", name, namespace)
    if label:
        made["metadata"]["labels"][_aggregation_label(label)] = "true"
    if aggregates:
        selector = {"matchLabels": {_aggregation_label(aggregates): "true"}}
        made["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    return {**made, "rules": list(rules)}


def binding(role_name: str, subjects: Sequence[Object], name: str = "", namespace: str = "") -> Object:
    """A ClusterRoleBinding to the ClusterRole of its name; with a namespace, a RoleBinding to a Role in it."""
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    reference = {"apiGroup": GROUP, "kind": "Role" if namespace else "ClusterRole", "name": role_name}
    made = {**_object(kind, name or role_name, namespace), "roleRef": reference}
    return {**made, "subjects": list(subjects)} if subjects else made


def users(*names: str) -> list[Object]:
    return [{"kind": "User", "apiGroup": GROUP, "name": name} for name in names]


def groups(*names: str) -> list[Object]:
    return [{"kind": "Group", "apiGroup": GROUP, "name": name} for name in names]


def accounts(*names: str) -> list[Object]:
    """Service accounts of kube-system."""
    return [{"kind": "ServiceAccount", "name": name, "namespace": "kube-system"} for name in names]


def _object(kind: str, name: str, namespace: str) -> Object:
    metadata: Object = {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    if namespace:
        metadata["namespace"] = namespace
    return {"kind": kind, "apiVersion": API_VERSION, "metadata": metadata}


def _aggregation_label(role_name: str) -> str:
    return f"{GROUP}/aggregate-to-{role_name}"
