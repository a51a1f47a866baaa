"""What a pod sees of others: the addresses of Services and pods, and the page that each simulated pod answers with."""

from __future__ import annotations

import ipaddress
from collections.abc import Container, Iterator, Sequence

from kubelet_sim.shell.effects import Ask
from kubelet_sim.shell.network import Page
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, labels_of, metadata
from kubeloop.apimachinery.resource import ENDPOINT_SLICES, SERVICES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer

_DOMAIN = "cluster.local"
_STATUSES = ("containerStatuses", "initContainerStatuses")


class Cluster:
    def __init__(self, api: Api, pods: Informer) -> None:
        self._api, self._pods = api, pods

    async def answer(self, ask: Ask, namespace: str) -> Page | Sequence[str] | None:
        """`namespace`: of whoever asks; names without one are looked for there."""
        host, *_ = ask.name.split("/", 1)
        if ask.what == "addresses":
            return await self._addresses(host, namespace)
        return await self._page(host, ask.port, namespace)

    async def _addresses(self, host: str, namespace: str) -> Sequence[str] | None:
        if _is_address(host):
            return [host]
        service = await self._service(host, namespace)
        if service is None:
            return None
        addresses = service["spec"].get("clusterIPs") or ()
        if list(addresses) == ["None"]:
            return [address for address, _ in await self._endpoints(service)] or None
        return list(addresses) or None

    async def _page(self, host: str, port: int, namespace: str) -> Page | None:
        if _is_address(host):
            return self._page_at(host, port)
        service = await self._service(host, namespace)
        if service is None:
            return None
        spec = service["spec"]
        ports = {one["port"]: one for one in spec.get("ports") or ()}
        is_headless = spec.get("clusterIP") == "None"
        if port not in ports and not is_headless:
            return Page(is_refused=True)
        for address, slice_ in await self._endpoints(service):
            names = {(one.get("name") or ""): one.get("port") for one in slice_.get("ports") or ()}
            target = port if is_headless else names.get(ports[port].get("name") or "", port)
            page = self._page_at(address, target or port)
            if not page.is_refused:
                return page
        return Page(is_refused=True)

    def _page_at(self, address: str, port: int) -> Page:
        """Pods that have ended still tell the address that they had, and those on the host's network share one."""
        for pod in self._pods.list():
            status = pod.get("status") or {}
            if address == status.get("podIP") and status.get("phase") == "Running":
                page = page_of(pod, port)
                if not page.is_refused:
                    return page
        return Page(is_refused=True)

    async def _service(self, host: str, namespace: str) -> Object | None:
        """`web`, `web.shop`, `web.shop.svc`, `web.shop.svc.cluster.local`."""
        name, *rest = host.rstrip(".").removesuffix(f".{_DOMAIN}").removesuffix(".svc").split(".")
        if len(rest) > 1:
            return None
        try:
            return await self._api.get(SERVICES, name, rest[0] if rest else namespace)
        except ApiError:
            return None

    async def _endpoints(self, service: ReadOnlyObject) -> list[tuple[str, ReadOnlyObject]]:
        """Ready addresses, in order."""
        meta = metadata(service)
        selector = f"kubernetes.io/service-name={meta['name']}"
        found = await self._api.list(ENDPOINT_SLICES, meta["namespace"], label_selector=selector)
        return sorted(
            ((address, slice_) for slice_ in found["items"] for address in _ready(slice_)), key=lambda one: one[0]
        )


def page_of(pod: ReadOnlyObject, port: int) -> Page:
    """What a simulated pod answers on one of its ports; refused where no container that runs declares it."""
    down = {
        status["name"]
        for field in _STATUSES
        for status in (pod.get("status") or {}).get(field) or ()
        if "running" not in (status.get("state") or {})
    }
    if port not in declared_ports(pod, down):
        return Page(is_refused=True)
    meta = metadata(pod)
    labels = "".join(f"label: {name}={text}\n" for name, text in sorted(labels_of(pod).items()))
    where = f"namespace: {meta['namespace']}\nnode: {pod['spec'].get('nodeName')}\nport: {port}\n"
    return Page(f"pod: {meta['name']}\n{where}{labels}")


def declared_ports(pod: ReadOnlyObject, without: Container[str] = ()) -> list[int]:
    """The TCP ports that its containers and sidecars say they listen on. `without`: containers that are left out."""
    spec = pod["spec"]
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    return [
        one["containerPort"]
        for container in (*sidecars, *spec["containers"])
        if container["name"] not in without
        for one in container.get("ports") or ()
        if (one.get("protocol") or "TCP") == "TCP"
    ]


def _ready(slice_: ReadOnlyObject) -> Iterator[str]:
    for endpoint in slice_.get("endpoints") or ():
        if (endpoint.get("conditions") or {}).get("ready") is not False:
            yield from endpoint["addresses"]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
