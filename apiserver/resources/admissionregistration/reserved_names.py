"""Names kept for configurations that come from files of the server, which this one has none of."""

from __future__ import annotations

from collections.abc import Sequence

from kubeloop.apimachinery.meta import Object

SUFFIX = ".static.k8s.io"


def reserved_name_warnings(obj: Object) -> Sequence[str]:
    if not obj["metadata"].get("name", "").endswith(SUFFIX):
        return ()
    reason = "are reserved for static manifest-based configurations and cannot be managed via the API"
    return (f'metadata.name: names ending with "{SUFFIX}" {reason}',)
