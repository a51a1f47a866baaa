"""The narrow read side given to admission, authorization and strategies: the server's own objects, by name or listed.

`registry/context.py` implements it over the watch cache; tests over a dict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kubeloop.apimachinery.meta import Object


class Reader(Protocol):
    """Synchronous reads by storage resource ("pods", "storageclasses.storage.k8s.io"), lists in key order.

    What comes back is read-only: whoever wants to change it copies first, so that an implementation may share objects.
    """

    def get(self, resource: str, namespace: str, name: str) -> Object | None: ...

    def list(self, resource: str, namespace: str = "") -> Iterable[Object]: ...
