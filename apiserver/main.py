"""`python -m apiserver`: flags, the socket, and the server on it."""

from __future__ import annotations

import argparse
import asyncio
import base64
import ipaddress
import logging
import os
import random
import socket
import ssl
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import FrameType

import uvicorn

from apiserver import flags
from apiserver.admission.catalog import PluginFlagError, enabled
from apiserver.aggregation.known_by import known_by
from apiserver.auth.authentication import API_AUDIENCES, TokenFile
from apiserver.auth.modes import ALWAYS_ALLOW, RBAC, ModeError, check_modes
from apiserver.auth.tokens.discovery import KEYS_PATH
from apiserver.auth.tokens.keyring import Keyring
from apiserver.auth.tokens.service_accounts import TokenSettings
from apiserver.connections import ClientConnection, check_files
from apiserver.handlers.audit_file import Rotation
from apiserver.handlers.audit_log import AuditSettings
from apiserver.handlers.audit_policy import Policy, PolicyError
from apiserver.handlers.deadlines import Times
from apiserver.handlers.kubelets import Credentials
from apiserver.handlers.lateness import Lateness
from apiserver.handlers.limits import InFlightLimits
from apiserver.schema.definitions import Schema
from apiserver.server import ApiServer
from apiserver.storage.interface import Storage, StorageUnavailable
from apiserver.storage.memory import MemoryStorage
from apiserver.storage.sqlite import SqliteStorage
from kubeloop.apimachinery.field import go_quote
from kubeloop.clock import SystemClock
from kubeloop.garbage import collect_less_often
from kubeloop.logs import configure_logging
from kubeloop.tokens import key_file

# A stop waits this long for requests under way; watches are ended at once.
GRACEFUL_STOP_SECONDS = 5


class UsageError(Exception):
    """Something the user can mend: one line, exit code 1."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop. Returns the exit code."""
    options = flags.parser().parse_args(arguments)
    configure_logging(options.logging_format, options.v)
    exit_code = 0
    try:
        _check_modes(options)
        _check_address(options)
        _check_tls(options)
        _check_audit_log(options.audit_log_path)
        token_sources = [_token_file(path, _audiences(options)) for path in options.token_auth_file]
        keyring = _keyring(options)
        listening = _listen(options.bind_address, options.port)
        server = ApiServer(
            _storage(options),
            SystemClock(),
            random.Random(),  # seeded by the operating system
            token_sources=token_sources,
            knows_certificates=options.client_ca_file is not None,
            allow_anonymous=options.anonymous_auth,
            authorization_modes=options.authorization_mode,
            insecure_kubectl_user="" if options.tls_cert_file else options.insecure_kubectl_user,
            keyring=keyring,
            token_settings=_token_settings(options),
            keys_uri=_keys_uri(options),
            own_address=_own_address(options),
            limits=InFlightLimits(options.max_requests_inflight, options.max_mutating_requests_inflight),
            times=Times(options.request_timeout, options.min_request_timeout),
            audit=_audit_settings(options),
            admission_plugins=_admission_plugins(options),
            service_ranges=options.service_cluster_ip_range,
            flags=flags.shown(options),
            schema=Schema.load(options.kubernetes_version),
            proxy_certificate=_proxy_certificate(options),
            known_by=_known_by(options),
            kubelet_credentials=_kubelet_credentials(options),
            lateness=Lateness(random.Random(options.late_seed), options.late_answers, options.late_watches),
        )
        collect_less_often()
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(server, listening, options))
    except* KeyboardInterrupt:
        pass
    except* (UsageError, StorageUnavailable) as errors:
        print(f"error: {_first(errors)}", file=sys.stderr)  # noqa: T201
        exit_code = 1
    return exit_code


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """One reason is enough: tasks that write at the same time fail for the same one."""
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _check_modes(options: argparse.Namespace) -> None:
    try:
        check_modes(options.authorization_mode)
    except ModeError as error:
        raise UsageError(str(error)) from error


def _check_address(options: argparse.Namespace) -> None:
    """Plain HTTP stays on this machine: any other address needs TLS, authentication and authorization."""
    address = options.bind_address
    local = address == "localhost" or (_is_address(address) and ipaddress.ip_address(address).is_loopback)
    secured = options.tls_cert_file and (options.token_auth_file or options.client_ca_file)
    modes = options.authorization_mode
    if not local and not (secured and RBAC in modes and ALWAYS_ALLOW not in modes):
        needs = (
            "--tls-cert-file, --tls-private-key-file, --token-auth-file or --client-ca-file, and "
            "--authorization-mode=RBAC"
        )
        raise UsageError(f"--bind-address={address} is not a loopback address; it needs {needs}")


def _check_tls(options: argparse.Namespace) -> None:
    """Certificate and key come together, fit together, and can be read."""
    certificate, key = options.tls_cert_file, options.tls_private_key_file
    if not certificate and not key and not options.client_ca_file:
        return
    if not certificate or not key:
        raise UsageError("--tls-cert-file and --tls-private-key-file are needed, both, to serve HTTPS")
    try:
        check_files(certificate, key, options.client_ca_file)
    except OSError as error:
        given = f"--tls-cert-file={certificate} --tls-private-key-file={key}"
        client_ca = f" --client-ca-file={options.client_ca_file}" if options.client_ca_file else ""
        raise UsageError(f"{given}{client_ca}: {error.strerror or error}") from error


def _proxy_certificate(options: argparse.Namespace) -> tuple[str, str] | None:
    """What aggregated API servers know this one by."""
    return _pair("--proxy-client-cert-file", options.proxy_client_cert_file, "--proxy-client-key-file", options)


def _pair(flag: str, certificate: Path | None, key_flag: str, options: argparse.Namespace) -> tuple[str, str] | None:
    """Certificate and key of this server as a client: they come together and fit."""
    key: Path | None = vars(options)[key_flag.removeprefix("--").replace("-", "_")]
    if not certificate and not key:
        return None
    if not certificate or not key:
        raise UsageError(f"{flag} and {key_flag} are needed, both")
    try:
        check_files(certificate, key, None)
    except OSError as error:
        raise UsageError(f"{flag}={certificate} {key_flag}={key}: {error.strerror or error}") from error
    return str(certificate), str(key)


def _kubelet_credentials(options: argparse.Namespace) -> Credentials:
    flag = "--kubelet-client-certificate"
    certificate = _pair(flag, options.kubelet_client_certificate, "--kubelet-client-key", options)
    try:
        token, authority = (
            file.read_bytes() if file else b""
            for file in (options.kubelet_token_file, options.kubelet_certificate_authority)
        )
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    return Credentials(token.decode("ascii", "replace").strip(), certificate, base64.b64encode(authority).decode())


def _known_by(options: argparse.Namespace) -> Mapping[str, str]:
    try:
        client_ca, front_proxy_ca = (
            file.read_text() if file else "" for file in (options.client_ca_file, options.requestheader_client_ca_file)
        )
    except OSError as error:
        raise UsageError(f"--requestheader-client-ca-file={error.filename}: {error.strerror}") from error
    return known_by(client_ca, front_proxy_ca, options.requestheader_allowed_names)


def _check_audit_log(path: str) -> None:
    """A server that could not write down what it does does not begin."""
    if not path or path == "-":
        return
    try:
        Path(path).open("ab").close()
    except OSError as error:
        raise UsageError(f"--audit-log-path={path}: {error.strerror}") from error


def _audit_settings(options: argparse.Namespace) -> AuditSettings:
    """The policy is read now, so that a bad one is said now."""
    rotation = Rotation(options.audit_log_maxsize, options.audit_log_maxbackup, options.audit_log_maxage)
    file = options.audit_policy_file
    if file is None:
        return AuditSettings(options.audit_log_path, options.audit_log_format, rotation=rotation)
    try:
        policy = Policy.parse(file.read_bytes())
    except OSError as error:
        reason = f"failed to read file path {go_quote(str(file))}: {error.strerror}"
        raise UsageError(f"loading audit policy file: {reason}") from error
    except PolicyError as error:
        raise UsageError(f"loading audit policy file: {error}: from file {file}") from error
    return AuditSettings(options.audit_log_path, options.audit_log_format, policy, rotation)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise UsageError(f"cannot listen on {address}:{port}: {reason}") from error
    listening.listen(2048)
    return listening


def _storage(options: argparse.Namespace) -> Storage:
    return MemoryStorage() if options.storage == "memory" else SqliteStorage(options.data_dir)


def _token_file(path: str, audiences: Sequence[str]) -> TokenFile:
    try:
        return TokenFile.parse(Path(path).read_text(), audiences)
    except (OSError, ValueError) as error:
        raise UsageError(f"--token-auth-file={path}: {error}") from error


def _admission_plugins(options: argparse.Namespace) -> Collection[str]:
    try:
        return enabled(options.enable_admission_plugins, options.disable_admission_plugins)
    except PluginFlagError as error:
        raise UsageError(str(error)) from error


def _issuers(options: argparse.Namespace) -> Sequence[str]:
    return options.service_account_issuer or API_AUDIENCES


def _audiences(options: argparse.Namespace) -> Sequence[str]:
    """Those given, or else the issuers."""
    return [text for text in options.api_audiences.split(",") if text] or _issuers(options)


def _token_settings(options: argparse.Namespace) -> TokenSettings:
    return TokenSettings(_issuers(options), _audiences(options), options.service_account_extend_token_expiration)


def _keyring(options: argparse.Namespace) -> Keyring:
    """Keys of the user's own are read now, so that a bad one is said now; ours is made when it is needed."""
    given, others = options.service_account_signing_key_file, options.service_account_key_file
    own = None if options.storage == "memory" else options.data_dir / key_file.NAME
    keyring = Keyring(given or own, others)
    for file in [*([given] if given else []), *others]:
        try:
            Keyring(others=[file]).check()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(f"cannot read the service account key {file}: {reason}") from error
    return keyring


def _keys_uri(options: argparse.Namespace) -> str:
    """Where relying parties find the public keys."""
    scheme = "https" if options.tls_cert_file else "http"
    return options.service_account_jwks_uri or f"{scheme}://{_own_address(options)}{KEYS_PATH}"


def _own_address(options: argparse.Namespace) -> str:
    host = f"[{options.bind_address}]" if ":" in options.bind_address else options.bind_address
    return f"{host}:{options.port}"


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


class _Server(uvicorn.Server):
    """uvicorn, which ends the watches when it is told to stop: it would wait for them for ever."""

    def __init__(self, config: uvicorn.Config, before_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._before_stop = before_stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._before_stop()


async def _serve(server: ApiServer, listening: socket.socket, options: argparse.Namespace) -> None:
    config = uvicorn.Config(
        server.app,
        http=ClientConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who speaks from loopback is no proxy: what it says of its address is not believed
        timeout_keep_alive=120,
        timeout_graceful_shutdown=GRACEFUL_STOP_SECONDS,
        ssl_certfile=options.tls_cert_file,
        ssl_keyfile=options.tls_private_key_file,
        ssl_ca_certs=options.client_ca_file,
        ssl_cert_reqs=ssl.CERT_OPTIONAL if options.client_ca_file else ssl.CERT_NONE,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # it advises to install what is left out on purpose
    async with server.running():
        await _Server(config, server.end_watches).serve(sockets=[listening])
