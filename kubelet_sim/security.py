"""What a kubelet can tell of a container's user before it runs (kuberuntime/security_context_others.go, v1.36).

The user that an image names is not known here: such containers run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeloop.apimachinery.meta import ReadOnlyObject, name_of, namespace_of, uid_of


def root_error(pod: ReadOnlyObject, container: Mapping[str, Any]) -> str:
    """Of a container that must not be root and is told to be; "" of any other."""
    if not _effective(pod, container, "runAsNonRoot") or _effective(pod, container, "runAsUser") != 0:
        return ""
    title = f"{name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"
    return f'container\'s runAsUser breaks non-root policy (pod: "{title}", container: {container["name"]})'


def _effective(pod: ReadOnlyObject, container: Mapping[str, Any], field: str) -> Any:
    own = (container.get("securityContext") or {}).get(field)
    return (pod["spec"].get("securityContext") or {}).get(field) if own is None else own
