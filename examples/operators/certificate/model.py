"""A Certificate as values: the JSON object is read here, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Self

from examples.operators.certificate.keys import KeyKind
from kubeloop.apimachinery.go_duration import duration_seconds
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, key_of, uid_of

_CA_USAGES = frozenset({"cert sign", "crl sign"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for. The schema has filled in the defaults, and vouches for durations and addresses."""

    key: ObjectKey
    uid: str
    secret_name: str
    ca_secret_name: str  # "" where the certificate signs itself
    common_name: str
    dns_names: frozenset[str]
    ip_addresses: frozenset[IPv4Address | IPv6Address]
    duration: timedelta
    renew_before: timedelta | None  # None: a third of its life
    is_ca: bool
    usages: frozenset[str]
    key_kind: KeyKind
    is_key_kept: bool
    issued_before: int  # how many certificates the status knows of

    @classmethod
    def of(cls, obj: ReadOnlyObject) -> Self:
        spec: Mapping[str, Any] = obj["spec"]
        key: Mapping[str, Any] = spec["privateKey"]
        is_ca = spec["isCA"]
        return cls(
            key=key_of(obj),
            uid=uid_of(obj),
            secret_name=spec["secretName"],
            ca_secret_name=spec.get("caSecretName") or "",
            common_name=spec.get("commonName") or "",
            dns_names=frozenset(spec.get("dnsNames") or ()),
            ip_addresses=frozenset(map(ip_address, spec.get("ipAddresses") or ())),
            duration=_duration(spec["duration"]),
            renew_before=_duration(spec["renewBefore"]) if spec.get("renewBefore") else None,
            is_ca=is_ca,
            usages=frozenset(spec["usages"]) | (_CA_USAGES if is_ca else frozenset()),
            key_kind=KeyKind.of(key["algorithm"], key.get("size") or 0),
            is_key_kept=key["rotationPolicy"] == "Never",
            issued_before=(obj.get("status") or {}).get("revision") or 0,
        )

    @property
    def secret_key(self) -> ObjectKey:
        return ObjectKey(self.key.namespace, self.secret_name)

    @property
    def ca_secret_key(self) -> ObjectKey:
        return ObjectKey(self.key.namespace, self.ca_secret_name)


def secret_keys(certificate: ReadOnlyObject) -> tuple[str, ...]:
    """The Secrets that matter to a Certificate, for an index."""
    key, spec = key_of(certificate), certificate["spec"]
    names = (spec["secretName"], spec.get("caSecretName"))
    return tuple(str(ObjectKey(key.namespace, name)) for name in names if name)


def _duration(text: str) -> timedelta:
    """Certificates count in whole seconds."""
    return timedelta(seconds=int(duration_seconds(text)))
