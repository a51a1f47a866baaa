"""`kubeloop up --secure`: certificates, tokens and kubeconfigs, made before anything starts.

The API server then speaks TLS with a certificate of the stack's own authority and asks everybody who he is. The user is
an administrator by a client certificate in the kubeconfig; every process of the stack has a token and a kubeconfig of
its own in the data directory.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kubeloop.apimachinery.addresses import parse_cidr
from kubeloop.apimachinery.service_addresses import SERVICE_RANGE
from kubeloop.cli.kubeconfig_file import Login
from kubeloop.cli.options import UpOptions
from kubeloop.private_files import write_private

if TYPE_CHECKING:
    from kubeloop.cli.certificates import Authority, Issued

ADMIN = "kubernetes-admin"
MASTERS = "system:masters"

# The names under which clients reach the API server, inside and outside of a cluster; its Service has an address too.
_HOSTS = (
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_RANGE_FLAG = "--service-cluster-ip-range="

CONTROLLERS, SCHEDULER, NODES, METRICS = "kube-controller-manager", "kube-scheduler", "kubelet-sim", "metrics-server"
FRONT_PROXY, KUBELET_CLIENT = "front-proxy-client", "kube-apiserver-kubelet-client"
METRICS_HOST = "metrics-server.kube-system.svc"
# Process -> the user it is, and its groups. The scheduler does with what RBAC gives to its user; the loops would be one
# user each in a real cluster, and the nodes one each, with an authorizer of their own.
USERS: Mapping[str, tuple[str, str]] = {
    CONTROLLERS: ("system:kube-controller-manager", MASTERS),
    SCHEDULER: ("system:kube-scheduler", ""),
    NODES: ("system:kubelet-sim", MASTERS),
    METRICS: ("system:metrics-server", MASTERS),
}


@dataclass(frozen=True, slots=True)
class Secured:
    """Where everything lies, and who the user is."""

    folder: Path
    admin: Login

    @property
    def ca_file(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def ca_key_file(self) -> Path:
        return self.folder / "ca.key"

    @property
    def apiserver_flags(self) -> list[str]:
        return [
            f"--tls-cert-file={self.folder / 'apiserver.crt'}",
            f"--tls-private-key-file={self.folder / 'apiserver.key'}",
            f"--client-ca-file={self.ca_file}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            f"--kubelet-client-certificate={self.folder / 'kubelet-client.crt'}",
            f"--kubelet-client-key={self.folder / 'kubelet-client.key'}",
            f"--kubelet-certificate-authority={self.ca_file}",
            f"--proxy-client-cert-file={self.folder / 'front-proxy-client.crt'}",
            f"--proxy-client-key-file={self.folder / 'front-proxy-client.key'}",
            f"--requestheader-client-ca-file={self.folder / 'front-proxy' / 'ca.crt'}",
            f"--requestheader-allowed-names={FRONT_PROXY}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
        ]

    @property
    def metrics_flags(self) -> list[str]:
        """The metrics server serves TLS, and nobody but the API server."""
        return [
            f"--tls-cert-file={self.folder / 'metrics-server.crt'}",
            f"--tls-private-key-file={self.folder / 'metrics-server.key'}",
            f"--ca-file={self.ca_file}",
            f"--requestheader-client-ca-file={self.folder / 'front-proxy' / 'ca.crt'}",
        ]

    @property
    def kubelet_flags(self) -> list[str]:
        """The kubelets serve TLS, and nobody but the API server."""
        return [
            f"--tls-cert-file={self.folder / 'kubelet.crt'}",
            f"--tls-private-key-file={self.folder / 'kubelet.key'}",
            f"--client-ca-file={self.folder / 'front-proxy' / 'ca.crt'}",
        ]

    def kubeconfig(self, component: str) -> Path:
        return self.folder / f"{component}.kubeconfig"


def secure(options: UpOptions, now: datetime) -> Secured:
    """Make everything. What lay there before is replaced, but for the authority. UsageError if that is unusable."""
    from kubeloop.cli.certificates import Authority  # loads cryptography: 100 ms for those who want it

    folder = options.data_dir / "pki"
    folder.mkdir(mode=0o700, exist_ok=True)
    authority = Authority.kept_in(folder, now)
    _write(folder, "apiserver", authority.for_server("kube-apiserver", [*_HOSTS, *_service_addresses(options)]))
    _write(folder, "metrics-server", authority.for_server(METRICS, [METRICS_HOST]))
    front_proxy = _front_proxy(folder, now)
    _write(folder, "front-proxy-client", front_proxy.for_client(FRONT_PROXY, []))
    _write(folder, "kubelet", authority.for_server("kubelet-sim", ["127.0.0.1", "localhost"]))
    _write(folder, "kubelet-client", front_proxy.for_client(KUBELET_CLIENT, []))
    admin = authority.for_client(ADMIN, [MASTERS])
    login = Login(options.server, ca=authority.certificate, certificate=admin.certificate, key=admin.key)
    secured = Secured(folder, login)
    write_private(secured.kubeconfig("admin"), login.kubeconfig("admin"))
    _write_tokens(secured)
    return secured


def _service_addresses(options: UpOptions) -> list[str]:
    """Those of the Service `kubernetes`: the first of each range. One that is none is for the API server to refuse."""
    given = [argument for argument in options.apiserver_args if argument.startswith(_RANGE_FLAG)]
    ranges = given[-1].removeprefix(_RANGE_FLAG) if given else SERVICE_RANGE
    networks = [parse_cidr(part.strip()) for part in ranges.split(",")]
    return [str(network[1]) for network in networks if network is not None and network.num_addresses > 1]


def _front_proxy(folder: Path, now: datetime) -> Authority:
    """The authority of what aggregated API servers and kubelets know the API server by. It lets nobody else in."""
    from kubeloop.cli.certificates import Authority

    own = folder / "front-proxy"
    own.mkdir(mode=0o700, exist_ok=True)
    return Authority.kept_in(own, now)


def _write(folder: Path, name: str, issued: Issued) -> None:
    write_private(folder / f"{name}.key", issued.key)
    (folder / f"{name}.crt").write_text(issued.certificate)


def _write_tokens(secured: Secured) -> None:
    """A fresh token for each process."""
    lines = []
    for component, (user, groups) in USERS.items():
        token = secrets.token_urlsafe(24)
        login = Login(secured.admin.server, token=token, ca=secured.admin.ca)
        write_private(secured.kubeconfig(component), login.kubeconfig(component))
        lines.append(f'{token},{user},{component},"{groups}"\n')
    write_private(secured.folder / "tokens.csv", "".join(lines))
