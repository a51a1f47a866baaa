"""A real HTTPS server for tests, with a certificate of its own CA: what a webhook is."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

Answer = tuple[int, str, bytes]  # code, content type, body
Respond = Callable[["Request"], Answer]


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    body: Any


class Authority(NamedTuple):
    """A CA that can certify servers."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def new(cls, name: str = "test-ca") -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        builder = _builder(subject, subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        return cls(key, builder.sign(key, hashes.SHA256()))

    @property
    def bundle(self) -> str:
        """As a caBundle carries it: base64 of PEM."""
        return base64.b64encode(self.certificate.public_bytes(serialization.Encoding.PEM)).decode()

    def context(self, directory: Path, names: Sequence[str]) -> ssl.SSLContext:
        """What a server uses whose certificate is for these hosts and addresses; none: only a common name."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "webhook")])
        builder = _builder(subject, self.certificate.subject, key.public_key())
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), False)
        certificate = builder.sign(self.key, hashes.SHA256())
        file = directory / "server.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def _builder(subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
    )


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


class HttpsServer:
    """Answers POSTs with `respond`; notes what was asked, and how many connections were made."""

    def __init__(self, context: ssl.SSLContext | None, respond: Respond, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.is_closing = threading.Event()  # for a `respond` that never answers, so that it ends with the test
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                owner.connections += 1
                super().setup()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                request = Request(self.path, {k.lower(): v for k, v in self.headers.items()}, orjson.loads(body))
                owner.requests.append(request)
                code, content_type, answer = respond(request)
                self.send_response(code)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads, block_on_close = True, False

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Clients hang up: that is what is tested."""

            def get_request(self) -> tuple[Any, Any]:
                connection, address = super().get_request()
                if context is not None:  # the handshake is made by the connection's own thread, as it first reads
                    connection = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                return connection, address

        self._server = Server(("127.0.0.1", port), Handler)
        self.port: int = self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.01)

    def close(self) -> None:
        self.is_closing.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serving(context: ssl.SSLContext | None, respond: Respond, port: int = 0) -> Iterator[HttpsServer]:
    """A server in a thread of its own, until the block ends; on any free port unless one is given."""
    server = HttpsServer(context, respond, port)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def as_json(value: Any, code: int = 200) -> Answer:
    return code, "application/json", orjson.dumps(value)
