"""An APIService whose group version another server answers for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.outgoing.trust import Trust
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of

API_SERVICES, KIND = "apiservices.apiregistration.k8s.io", "APIService"
AVAILABLE = "Available"
DEFAULT_PORT = 443

GroupVersion = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Remote:
    """What is read of such an APIService. `trust` is that of TLS; the Service may say that there is none."""

    name: str
    group: str
    version: str
    group_priority: int
    version_priority: int
    namespace: str
    service: str
    port: int
    trust: Trust

    @property
    def key(self) -> GroupVersion:
        return self.group, self.version

    @property
    def path(self) -> str:
        """Where its group version begins."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


def remote_of(api_service: ReadOnlyObject, certificate: tuple[str, str] | None = None) -> Remote | None:
    """None for one that this server answers itself. `certificate`: files of what this server shows to others."""
    spec = api_service["spec"]
    service = spec.get("service")
    if service is None:
        return None
    server_name = f"{service['name']}.{service['namespace']}.svc"
    return Remote(
        name=name_of(api_service),
        group=spec.get("group", ""),
        version=spec["version"],
        group_priority=spec["groupPriorityMinimum"],
        version_priority=spec["versionPriority"],
        namespace=service["namespace"],
        service=service["name"],
        port=service.get("port") or DEFAULT_PORT,
        trust=Trust(
            server_name,
            spec.get("caBundle") or "",
            is_blind=bool(spec.get("insecureSkipTLSVerify")),
            client_certificate=certificate,
        ),
    )


def is_available(api_service: ReadOnlyObject) -> bool:
    return is_true(conditions_of(api_service), AVAILABLE)


def remotes_of(api_services: Iterable[ReadOnlyObject], certificate: tuple[str, str] | None) -> list[Remote]:
    found = (remote_of(api_service, certificate) for api_service in api_services)
    return [remote for remote in found if remote is not None]
