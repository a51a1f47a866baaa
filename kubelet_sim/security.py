"""What a kubelet can tell of a container's user before it runs (kuberuntime/security_context_others.go, v1.36).

The user that an image names is known only of some that everybody uses, which name none: they run as root.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim import images
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of, namespace_of, uid_of

_OFFICIAL = "docker.io/library/"
_OF_ROOT = frozenset(
    (
        "alpine",
        "bash",
        "busybox",
        "centos",
        "debian",
        "fedora",
        "golang",
        "httpd",
        "mariadb",
        "mongo",
        "mysql",
        "nginx",
        "node",
        "php",
        "postgres",
        "python",
        "rabbitmq",
        "redis",
        "registry",
        "ruby",
        "ubuntu",
    )
)


def root_error(pod: ReadOnlyObject, container: Mapping[str, Any]) -> str:
    """Of a container that must not be root and would be; "" of any other."""
    if not _effective(pod, container, "runAsNonRoot"):
        return ""
    user = _effective(pod, container, "runAsUser")
    title = f"{name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"
    about = f'(pod: "{title}", container: {container["name"]})'
    if user == 0:
        return f"container's runAsUser breaks non-root policy {about}"
    if user is None and _runs_as_root(container.get("image") or ""):
        return f"container has runAsNonRoot and image will run as root {about}"
    return ""


def _runs_as_root(image: str) -> bool:
    """Unless somebody says otherwise."""
    if images.name_error(image):
        return False
    name = images.reference(image)
    return name.startswith(_OFFICIAL) and name.removeprefix(_OFFICIAL).partition("@")[0].partition(":")[0] in _OF_ROOT


def _effective(pod: ReadOnlyObject, container: Mapping[str, Any], field: str) -> Any:
    own = (container.get("securityContext") or {}).get(field)
    return (pod["spec"].get("securityContext") or {}).get(field) if own is None else own
