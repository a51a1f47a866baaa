"""How many nodes this process plays, and which: the number it was started with, or the one that the cluster asks for.

The ConfigMap kube-system/kubeloop-nodes (`kubeloop scale nodes 1000` writes it) wins as soon as it exists. Nodes beyond
the number are no longer played, and their objects are deleted, as a cluster autoscaler would; what ran on them is left
to the loops. Of several processes with `--shard` each plays every so many-th node.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

import structlog

from kubelet_sim.node_object import NodeIdentity, identity
from kubelet_sim.settings import Settings
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.forwarding import is_simulated
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, name_of
from kubeloop.apimachinery.node_count import ASKED_FOR, number_of_nodes
from kubeloop.apimachinery.resource import NODES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.result import DONE, Result, TerminalError

log = structlog.get_logger(__name__)


class Pool(Mapping[str, NodeIdentity]):
    """The nodes of this process by name."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._identities: dict[str, NodeIdentity] = {}

    def __getitem__(self, name: str) -> NodeIdentity:
        return self._identities[name]

    def __contains__(self, name: object) -> bool:
        return name in self._identities

    def __iter__(self) -> Iterator[str]:
        return iter(self._identities)

    def __len__(self) -> int:
        return len(self._identities)

    def resize(self, nodes: int) -> list[str]:
        """Play the share of this process of so many nodes; returns the names that are new."""
        shard, shards = self._settings.shard, self._settings.shards
        before = self._identities
        wanted = (identity(self._settings, i) for i in range(shard, nodes, shards))
        self._identities = {one.name: before.get(one.name, one) for one in wanted}
        return [name for name in self._identities if name not in before]

    def is_surplus(self, node: ReadOnlyObject) -> bool:
        """Whether it is a simulated node of this process' share beyond the number."""
        prefix, name = self._settings.node_name_prefix, name_of(node)
        number = name.removeprefix(prefix)
        if not name.startswith(prefix) or not number.isdecimal() or name in self._identities:
            return False
        return int(number) % self._settings.shards == self._settings.shard and is_simulated(node)

    def keys_of_surplus(self, node: ReadOnlyObject) -> Sequence[ObjectKey]:
        """What is to be reconciled when such a node shows."""
        return (ASKED_FOR,) if self.is_surplus(node) else ()


class PoolReconciler:
    """`begin` is told of the nodes that are to be played from now on, if there are any; before the first of them
    `prepared` is awaited.
    """

    def __init__(
        self,
        api: Api,
        config_maps: Informer,
        nodes: Informer,
        pool: Pool,
        settings: Settings,
        begin: Callable[[Sequence[str]], None],
        prepared: Callable[[], Awaitable[None]],
    ) -> None:
        self._api, self._config_maps, self._nodes = api, config_maps, nodes
        self._pool, self._settings, self._begin, self._prepared = pool, settings, begin, prepared
        self._is_sized = False

    async def reconcile(self, key: ObjectKey) -> Result:
        if not self._is_sized:
            await self._prepared()
        asked_for = self._config_maps.get(ASKED_FOR)
        try:
            wanted = self._settings.nodes if asked_for is None else number_of_nodes(asked_for)
        except ValueError as error:
            if not self._is_sized:
                self._resize(self._settings.nodes)
            raise TerminalError(str(error)) from error
        self._resize(wanted)
        if asked_for is not None:
            await self._remove_surplus()
        return DONE

    def _resize(self, nodes: int) -> None:
        self._is_sized = True
        if new := self._pool.resize(nodes):
            self._begin(new)

    async def _remove_surplus(self) -> None:
        for node in [node for node in self._nodes.list() if self._pool.is_surplus(node)]:
            try:
                await self._api.delete(NODES, name_of(node))
            except NotFound:
                continue
            log.info("node removed", node=name_of(node))
