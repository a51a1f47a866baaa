"""What is known of the pods' statuses, and how they are written: one patch where something differs, and none twice.

A status is true before it is written, and the watch tells of it only later. Who asks a kubelet for the log of a
container that he has just read is running is not to be told that it waits to start: what is shown to him counts on what
is being written, too.
"""

from __future__ import annotations

from kubelet_sim.echoes import Echoes
from kubelet_sim.faults.registry import Faults
from kubelet_sim.phase import TERMINAL
from kubelet_sim.stages.player import StagePlayer
from kubelet_sim.state import PodSpec
from kubelet_sim.status_patch import status_patch
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, is_older, key_of, resource_version_of, uid_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.client.api import STRATEGIC, Api
from kubeloop.client.informer import Informer


class PodStatuses:
    def __init__(self, api: Api, pods: Informer, faults: Faults, stages: StagePlayer) -> None:
        self._api, self._pods, self._faults, self._stages = api, pods, faults, stages
        # The newest answer of each pod that the informer has not caught up with: no status is written twice.
        self._answers: dict[ObjectKey, Object] = {}
        self._being_written: dict[ObjectKey, tuple[str, Object]] = {}  # uid and status, while the write takes
        self._echoes = Echoes()

    def is_news(self, old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
        """A predicate: whether an update may ask for something, as the echo of a status written here does not."""
        return not self._echoes.is_echo(key_of(new), resource_version_of(new))

    def newest(self, key: ObjectKey) -> Object | None:
        """The pod as it was heard of last."""
        obj, answer = self._pods.get(key), self._answers.get(key)
        if obj is None or answer is None or uid_of(answer) != uid_of(obj):
            return obj
        return answer if is_older(obj, answer) else obj

    def shown(self, key: ObjectKey) -> Object | None:
        """The same with the status that is on its way to the server, where others may know of it already."""
        obj = self.newest(key)
        uid, status = self._being_written.get(key, ("", {}))
        if obj is None or uid != uid_of(obj):
            return obj
        return {**obj, "status": {**(obj.get("status") or {}), **status}}

    async def write(self, obj: ReadOnlyObject, pod: PodSpec, status: Object) -> bool:
        """Whether more was heard of the pod meanwhile than the echo of this."""
        patch = status_patch(obj, status)
        if patch is None:
            return False
        key, settled = pod.key, ""
        self._echoes.write_begins(key)
        self._being_written[key] = pod.uid, status
        try:
            answer = await self._api.patch(
                PODS, key.name, patch, key.namespace, patch_type=STRATEGIC, subresource="status", managed_fields=False
            )
            self.keep(answer)
            if self._is_settled(answer, pod):
                settled = resource_version_of(answer)
        except NotFound:
            pass  # gone; the informer will say so
        finally:
            del self._being_written[key]
            must_look_again = self._echoes.write_ends(key, settled)
        return must_look_again

    def keep(self, answer: Object) -> None:
        """What a write was answered with."""
        known = self._pods.get(key_of(answer))
        if known is not None and is_older(known, answer):
            self._answers[key_of(answer)] = answer

    def caught_up(self, obj: ReadOnlyObject) -> None:
        """The informer has this by now."""
        key = key_of(obj)
        answer = self._answers.get(key)
        if answer is not None and not is_older(obj, answer):
            del self._answers[key]

    def forget(self, key: ObjectKey) -> None:
        self._answers.pop(key, None)
        self._echoes.forget(key)

    def _is_settled(self, answer: ReadOnlyObject, pod: PodSpec) -> bool:
        """Whether another look would find nothing to do: that a pod is over has consequences, and processes, stages
        and faults may go by what its status says.
        """
        if answer["status"].get("phase") in TERMINAL or self._faults or self._stages.takes(answer):
            return False
        return not any(spec.is_real for spec in pod.containers)
