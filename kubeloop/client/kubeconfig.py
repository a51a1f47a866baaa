"""Which API server to speak to, and as whom: kubeconfig files as kubectl reads them, or what a pod is given.

`connect` is the one place where a process turns its flags into an Api. Files of the KUBECONFIG list are merged, the
first to say something wins. Credential plugins (exec, auth-provider) are not run; using one is an error that says so.
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kubeloop.apimachinery.clock import Clock
from kubeloop.client.api import Api
from kubeloop.client.connections import Connections
from kubeloop.client.token_file import TokenFile
from kubeloop.clock import SystemClock

DEFAULT_PATH = Path("~/.kube/config")
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")  # where a kubelet puts it into every container


class KubeconfigError(Exception):
    """The kubeconfig cannot be used; the text says which file, and what is wrong or missing in it."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What a context comes down to. PEM text, never paths, but for a token that is renewed in its file."""

    server: str
    namespace: str = ""
    token: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""
    is_insecure: bool = False
    server_name: str = ""
    token_file: str = ""
    extensions: Mapping[str, Any] = field(default_factory=dict)  # of the cluster, by name: what programs note there


def connect(
    kubeconfig: str = "",
    master: str = "",
    token: str = "",
    *,
    token_file: str = "",
    context: str = "",
    user_agent: str = "kubeloop",
    environ: Mapping[str, str] | None = None,
    service_account: Path = SERVICE_ACCOUNT,
    clock: Clock | None = None,
    on_warning: Callable[[str], None] | None = None,
) -> Api:
    """The Api that these flags mean; `master` alone needs no kubeconfig, and overrides its server.

    Without flags: the files of KUBECONFIG, else what a pod is given, else ~/.kube/config. `clock`: the system's.
    """
    environ = os.environ if environ is None else environ
    if master and not kubeconfig:
        connection = Connection(server=master)
    elif kubeconfig or context or environ.get("KUBECONFIG"):
        connection = load(paths(kubeconfig, environ), context)
    else:
        connection = in_cluster(environ, service_account) or load(paths("", environ))
    server = master or connection.server
    transport = Connections(server, tls_context(connection), connection.server_name)
    credential: str | TokenFile = token or connection.token
    if not token and (file := token_file or connection.token_file):
        credential = TokenFile(Path(file), clock or SystemClock())
    return Api(server, transport, token=credential, user_agent=user_agent, on_warning=on_warning)


def in_cluster(environ: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> Connection | None:
    """What every container of a pod is given: the API server's address, its CA and a token. None where this is no pod.

    Without a CA file the machine's own authorities are trusted, as client-go does.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    token_file = service_account / "token"
    if not host or not port or not token_file.is_file():
        return None
    ca, namespace = service_account / "ca.crt", service_account / "namespace"
    return Connection(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=namespace.read_text().strip() if namespace.is_file() else "",
        ca=ca.read_text() if ca.is_file() else "",
        token_file=str(token_file),
    )


def paths(kubeconfig: str, environ: Mapping[str, str]) -> list[Path]:
    """The flag, else the KUBECONFIG list, else ~/.kube/config."""
    if kubeconfig:
        return [Path(kubeconfig)]
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return listed or [DEFAULT_PATH.expanduser()]


def load(files: Sequence[Path], context: str = "") -> Connection:
    """The connection of `context`, or of the current context."""
    merged = _merge(files)
    names = ", ".join(str(file) for file in files)
    context_name = context or merged["current-context"]
    if not context_name:
        raise KubeconfigError(f"no current-context in {names}")
    chosen = _entry(merged, "contexts", "context", context_name, names)
    cluster = _entry(merged, "clusters", "cluster", chosen.get("cluster", ""), names)
    user = _entry(merged, "users", "user", chosen["user"], names) if chosen.get("user") else {}
    if not cluster.get("server"):
        raise KubeconfigError(f"cluster {chosen.get('cluster')!r} has no server in {names}")
    for plugin in ("exec", "auth-provider"):
        if user.get(plugin):
            raise KubeconfigError(f"user {chosen['user']!r} in {names} needs the credential plugin {plugin!r}")
    return Connection(
        server=cluster["server"],
        namespace=chosen.get("namespace", ""),
        token=user.get("token") or _text(user, "tokenFile"),
        ca=_pem(cluster, "certificate-authority"),
        certificate=_pem(user, "client-certificate"),
        key=_pem(user, "client-key"),
        is_insecure=bool(cluster.get("insecure-skip-tls-verify")),
        server_name=cluster.get("tls-server-name", ""),
        token_file=user.get("tokenFile", ""),
        extensions={one.get("name", ""): one.get("extension") for one in cluster.get("extensions") or ()},
    )


def tls_context(connection: Connection) -> ssl.SSLContext | None:
    """None for plain HTTP."""
    if not connection.server.startswith("https:"):
        return None
    context = ssl.create_default_context(cadata=connection.ca or None)
    if connection.is_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if connection.certificate:
        _load_client_certificate(context, connection)
    return context


def _load_client_certificate(context: ssl.SSLContext, connection: Connection) -> None:
    """The ssl module reads certificates from files only: a private one that is gone again at once."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "client.pem"
        file.touch(mode=0o600)
        file.write_text(f"{connection.certificate}\n{connection.key}\n")
        context.load_cert_chain(file)


def _merge(files: Sequence[Path]) -> dict[str, Any]:
    """Lists become name -> entry, with paths resolved against the file that names them."""
    merged: dict[str, Any] = {"current-context": "", "contexts": {}, "clusters": {}, "users": {}}
    found = [file for file in files if file.exists()]
    if not found:
        raise KubeconfigError(f"no kubeconfig: {', '.join(str(file) for file in files)} not found")
    for file in found:
        try:
            content = yaml.safe_load(file.read_text()) or {}
        except (OSError, yaml.YAMLError) as error:
            raise KubeconfigError(f"cannot read {file}: {error}") from error
        merged["current-context"] = merged["current-context"] or content.get("current-context") or ""
        for section, what in (("contexts", "context"), ("clusters", "cluster"), ("users", "user")):
            for entry in content.get(section) or []:
                values = _with_absolute_paths(entry.get(what) or {}, file.parent)
                merged[section].setdefault(entry.get("name", ""), values)
    return merged


def _with_absolute_paths(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    files = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
    return {k: str(folder / v) if k in files and v else v for k, v in values.items()}


def _entry(merged: Mapping[str, Any], section: str, what: str, name: str, files: str) -> dict[str, Any]:
    try:
        entry: dict[str, Any] = merged[section][name]
    except KeyError:
        known = ", ".join(merged[section]) or "none"
        raise KubeconfigError(f"{what} {name!r} does not exist in {files} (there are: {known})") from None
    return entry


def _pem(values: Mapping[str, Any], name: str) -> str:
    """`<name>-data` (base64) wins over the file `<name>`."""
    data = values.get(f"{name}-data")
    return base64.b64decode(data).decode() if data else _text(values, name)


def _text(values: Mapping[str, Any], name: str) -> str:
    """The content of the file that a field names."""
    file = values.get(name)
    if not file:
        return ""
    try:
        return Path(file).read_text().strip()
    except OSError as error:
        raise KubeconfigError(f"{name}: cannot read {file}: {error.strerror}") from error
