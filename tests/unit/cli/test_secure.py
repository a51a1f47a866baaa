"""What `kubeloop up --secure` makes before it starts anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from apiserver.auth.authentication import API_AUDIENCES, TokenFile
from kubeloop.cli.options import UpOptions
from kubeloop.cli.secure import USERS, secure
from kubeloop.cli.services import services
from kubeloop.client.kubeconfig import load

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def options(tmp_path: Path) -> UpOptions:
    return UpOptions(data_dir=tmp_path, secure=True)


def test_every_process_is_a_user_of_its_own(options: UpOptions) -> None:
    """Its kubeconfig leads to the server, trusts the authority and has the token of that user."""
    secured = secure(options, NOW)
    tokens = TokenFile.parse((secured.folder / "tokens.csv").read_text())

    for component, (user, _) in USERS.items():
        connection = load([secured.kubeconfig(component)])
        identity = tokens.identify(connection.token, API_AUDIENCES)
        assert identity is not None and user == identity.user.name
        assert ("https://127.0.0.1:8001", secured.admin.ca.strip()) == (connection.server, connection.ca.strip())


@pytest.fixture
def open_umask() -> Iterator[None]:
    """That of a user who hides nothing by habit."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_only_its_user_reads_the_secrets(options: UpOptions) -> None:
    """The folder is closed, and so is each file with a key or a token."""
    folder = secure(options, NOW).folder

    assert 0o700 == folder.stat().st_mode & 0o777
    open_to_others = {file.name for file in folder.iterdir() if file.stat().st_mode & 0o077}
    certificates = ("apiserver", "ca", "front-proxy-client", "kubelet", "kubelet-client", "metrics-server")
    assert {f"{name}.crt" for name in certificates} == open_to_others


def test_the_stack_speaks_tls(options: UpOptions) -> None:
    """The server gets certificates, the loops their kubeconfig and the authority to publish, and nobody plain HTTP."""
    secured = secure(options, NOW)

    commands = {service.name: " ".join(service.command) for service in services(options, Path("unused"), secured)}

    assert f"--client-ca-file={secured.ca_file}" in commands["apiserver"]
    assert f"--root-ca-file={secured.ca_file}" in commands["controllers"]
    assert not any("http://" in command or "--insecure" in command for command in commands.values())


@pytest.mark.parametrize(
    "arguments, addresses",
    [
        ((), ["10.96.0.1"]),
        (("--service-cluster-ip-range=10.0.0.0/24", "--service-cluster-ip-range=10.1.0.0/24"), ["10.1.0.1"]),
        (("--service-cluster-ip-range=10.1.0.0/24,fd00::/112",), ["10.1.0.1", "fd00::1"]),
        (("--service-cluster-ip-range=nonsense",), []),
    ],
)
def test_the_certificate_names_what_clients_dial(
    options: UpOptions, arguments: tuple[str, ...], addresses: list[str]
) -> None:
    """This machine, the Service `kubernetes` in all its forms, and the address that it has in the range in use."""
    secured = secure(replace(options, apiserver_args=arguments), NOW)

    certificate = x509.load_pem_x509_certificate((secured.folder / "apiserver.crt").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    service = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
    assert ["localhost", *service] == names.get_values_for_type(x509.DNSName)
    assert ["127.0.0.1", "::1", *addresses] == [str(one) for one in names.get_values_for_type(x509.IPAddress)]


def test_without_it_nothing_changes(options: UpOptions) -> None:
    """The default stays plain HTTP with no certificates and no kubeconfigs."""
    plain = replace(options, secure=False)

    commands = " ".join(" ".join(service.command) for service in services(plain, Path("component.token")))

    assert "http://127.0.0.1:8001" == plain.server
    assert not any(word in commands for word in ("tls", "ca-file", "kubeconfig"))


def test_the_command_line_says_it_too(options: UpOptions) -> None:
    """A detached stack is started with the same flag."""
    assert "--secure" in options.as_flags()
    assert "--secure" not in replace(options, secure=False).as_flags()
