"""The Certificate operator as it is written with kopf and the official client: `kopf run certificate.py`."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import re
from typing import Any

import kopf
import kubernetes
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from kubernetes.client.exceptions import ApiException

CERTIFICATES = ("certs.example.com", "v1", "certificates")
PEM = serialization.Encoding.PEM
LOOK_AGAIN_SECONDS = 0.5
_SECONDS = {"h": 3600, "m": 60, "s": 1}


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="certs.example.com")
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix="certs.example.com")


@kopf.daemon(*CERTIFICATES, cancellation_polling=LOOK_AGAIN_SECONDS)
def keep_good(
    stopped: kopf.DaemonStopped, spec: kopf.Spec, name: str, namespace: str, body: kopf.Body, **_: Any
) -> None:
    """One thread a Certificate: looks at the Secret, issues where that is due, sleeps."""
    revision = body.get("status", {}).get("revision") or 0  # counted here: what was said comes back when it comes
    while not stopped:
        secret = read_secret(namespace, spec["secretName"])
        if is_due(secret, spec):
            ca = read_secret(namespace, spec["caSecretName"]) if "caSecretName" in spec else None
            if "caSecretName" in spec and not ca:
                say(name, namespace, ready("False", "CANotFound", f"Secret {spec['caSecretName']} is not there"))
            else:
                certificate = issue(spec, secret, ca, namespace, body)
                revision += 1
                tell(certificate, revision, spec, name, namespace, body)
        stopped.wait(LOOK_AGAIN_SECONDS)


def read_secret(namespace: str, name: str) -> dict[str, bytes]:
    """Its entries; none where it is not there."""
    try:
        data = kubernetes.client.CoreV1Api().read_namespaced_secret(name, namespace).data or {}
    except ApiException as error:
        if error.status != 404:
            raise
        return {}
    return {entry: base64.b64decode(content) for entry, content in data.items()}


def is_due(secret: dict[str, bytes], spec: kopf.Spec) -> bool:
    """There is none, it is for other names, or it is to be renewed."""
    if "tls.crt" not in secret:
        return True
    certificate = x509.load_pem_x509_certificate(secret["tls.crt"])
    if certificate.subject != subject_of(spec) or names_in(certificate) != names_of(spec):
        return True
    return renewal(certificate, spec) <= datetime.datetime.now(datetime.UTC)


def renewal(certificate: x509.Certificate, spec: kopf.Spec) -> datetime.datetime:
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    before = duration(spec["renewBefore"]) if "renewBefore" in spec else life / 3
    return certificate.not_valid_after_utc - before


def subject_of(spec: kopf.Spec) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, spec["commonName"])] if "commonName" in spec else [])


def names_of(spec: kopf.Spec) -> list[x509.GeneralName]:
    addresses = [ipaddress.ip_address(address) for address in spec.get("ipAddresses", [])]
    return [*map(x509.DNSName, spec.get("dnsNames", [])), *map(x509.IPAddress, addresses)]


def names_in(certificate: x509.Certificate) -> list[x509.GeneralName]:
    try:
        return list(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def issue(
    spec: kopf.Spec, secret: dict[str, bytes], ca: dict[str, bytes] | None, namespace: str, body: kopf.Body
) -> x509.Certificate:
    """A certificate for a key that is new, unless the old one is to be kept; both go into the Secret."""
    is_kept = spec["privateKey"]["rotationPolicy"] == "Never" and "tls.key" in secret
    key: Any = load_key(secret["tls.key"]) if is_kept else ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(ca["tls.crt"]).subject if ca else subject_of(spec)
    certificate = sign(spec, key, issuer, load_key(ca["tls.key"]) if ca else key)
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    wanted = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": spec["secretName"]},
        "type": "kubernetes.io/tls",
        "stringData": {
            "tls.crt": certificate.public_bytes(PEM).decode(),
            "tls.key": key.private_bytes(PEM, *plain).decode(),
            "ca.crt": ca["tls.crt"].decode() if ca else certificate.public_bytes(PEM).decode(),
        },
    }
    kopf.adopt(wanted, owner=body)
    api = kubernetes.client.CoreV1Api()
    try:
        api.create_namespaced_secret(namespace, wanted)
    except ApiException as error:
        if error.status != 409:
            raise
        api.patch_namespaced_secret(spec["secretName"], namespace, wanted)
    return certificate


def sign(spec: kopf.Spec, key: Any, issuer: x509.Name, signing_key: Any) -> x509.Certificate:
    is_ca, names = spec["isCA"], names_of(spec)
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    usages = {"digital_signature", *({"key_cert_sign", "crl_sign"} if is_ca else ())}
    none = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    key_usage = {**none, **{usage: usage in usages for usage in ("digital_signature", "key_cert_sign", "crl_sign")}}
    builder = (
        x509.CertificateBuilder(issuer, subject_of(spec), key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + duration(spec["duration"]))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**key_usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical="commonName" not in spec)
    if not is_ca:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return builder.sign(signing_key, hashes.SHA256())


def load_key(text: bytes) -> Any:
    return serialization.load_pem_private_key(text, password=None)


def tell(
    certificate: x509.Certificate, revision: int, spec: kopf.Spec, name: str, namespace: str, body: kopf.Body
) -> None:
    until = certificate.not_valid_after_utc.isoformat()
    changes = {
        "revision": revision,
        "notBefore": certificate.not_valid_before_utc.isoformat(),
        "notAfter": until,
        "renewalTime": renewal(certificate, spec).isoformat(timespec="seconds"),
        "serialNumber": f"{certificate.serial_number:x}",
    }
    say(name, namespace, {**changes, **ready("True", "Issued", f"good until {until}")})
    kopf.info(body, reason="Issued", message=f"good until {until}")


def say(name: str, namespace: str, status: dict[str, Any]) -> None:
    """A daemon's own patch is sent when it ends; this one is for now."""
    group, version, plural = CERTIFICATES
    api = kubernetes.client.CustomObjectsApi()
    api.patch_namespaced_custom_object_status(group, version, namespace, plural, name, {"status": status})


def ready(status: str, reason: str, message: str) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    condition = {"type": "Ready", "status": status, "reason": reason, "message": message}
    return {"conditions": [{**condition, "lastTransitionTime": now}]}


def duration(text: str) -> datetime.timedelta:
    parts = re.findall(r"(\d+)([hms])", text)
    return datetime.timedelta(seconds=sum(int(number) * _SECONDS[unit] for number, unit in parts))
