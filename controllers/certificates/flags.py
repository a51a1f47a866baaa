"""--cluster-signing-…: the authorities of the four signers, as kube-controller-manager is told them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from controllers.certificates.signers import CLIENT, LEGACY, NODE_CLIENT, NODE_SERVING
from kubeloop.apimachinery import pem
from kubeloop.runtime import flags

DEFAULT_SECONDS = 365 * 24 * 60 * 60.0

# Signer -> what stands for it in the flags.
_SPELLED: Mapping[str, str] = {
    NODE_SERVING: "kubelet-serving",
    NODE_CLIENT: "kubelet-client",
    CLIENT: "kube-apiserver-client",
    LEGACY: "legacy-unknown",
}


class SigningFlagsError(ValueError):
    """What is wrong with these flags."""


@dataclass(frozen=True, slots=True)
class SigningFiles:
    """An authority. `made_when_missing`: with the first certificate, where neither file is there."""

    certificate: Path
    key: Path
    made_when_missing: bool = False


@dataclass(frozen=True, slots=True)
class Signing:
    """Who signs with what, and how long certificates last that ask for no time."""

    files: Mapping[str, SigningFiles] = field(default_factory=dict)
    seconds: float = DEFAULT_SECONDS


def add_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("signing of certificate requests")
    group.add_argument("--cluster-signing-cert-file", default="", help="the authority of all four signers, PEM")
    group.add_argument("--cluster-signing-key-file", default="", help="its key, PEM")
    group.add_argument(
        "--cluster-signing-duration",
        type=flags.duration,
        default=DEFAULT_SECONDS,
        help="how long certificates are good at most, and where they ask for no time (default 8760h)",
    )
    group.add_argument(
        "--make-cluster-signing-authority",
        action="store_true",
        help="make these files with the first certificate, where neither is there",
    )
    for signer, spelled in _SPELLED.items():
        for what in ("cert", "key"):
            group.add_argument(
                f"--cluster-signing-{spelled}-{what}-file", default="", help=f"for {signer}, instead of the one for all"
            )


def signing_of(arguments: argparse.Namespace) -> Signing:
    """Raises SigningFlagsError, or OSError for a file that cannot be read."""
    for_all = _pair(arguments, "")
    own = {signer: pair for signer, spelled in _SPELLED.items() if any(pair := _pair(arguments, f"{spelled}-"))}
    if all(for_all) and own:
        raise SigningFlagsError("cannot specify default and per controller certs at the same time")
    if not own and all(for_all):
        own = dict.fromkeys(_SPELLED, for_all)
    for pair in own.values():
        if not all(pair):
            raise SigningFlagsError("a signer needs both: --cluster-signing-…cert-file and --cluster-signing-…key-file")
    is_made = arguments.make_cluster_signing_authority
    files = {signer: SigningFiles(Path(cert), Path(key), is_made) for signer, (cert, key) in own.items()}
    for found in dict.fromkeys(files.values()):
        _check(found)
    return Signing(files, arguments.cluster_signing_duration)


def _pair(arguments: argparse.Namespace, which: str) -> tuple[str, str]:
    start = f"cluster_signing_{which}".replace("-", "_")
    return getattr(arguments, f"{start}cert_file"), getattr(arguments, f"{start}key_file")


def _check(files: SigningFiles) -> None:
    """Better at the start than at the first request. The key is looked at when it is needed: that costs 100 ms."""
    if files.made_when_missing and not files.certificate.exists() and not files.key.exists():
        return
    found = sum(block.kind == "CERTIFICATE" for block in pem.blocks(files.certificate.read_bytes()))
    if found != 1:
        raise SigningFlagsError(
            f"error reading CA cert file {files.certificate}: expected 1 certificate, found {found}"
        )
    if not any(block.kind.endswith("PRIVATE KEY") for block in pem.blocks(files.key.read_bytes())):
        raise SigningFlagsError(f"error reading CA key file {files.key}: no private key found")
