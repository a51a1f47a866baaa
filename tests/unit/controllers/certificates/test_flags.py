"""Which authority signs for whom."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from controllers.certificates.flags import Signing, SigningFiles, SigningFlagsError, add_flags, signing_of
from controllers.certificates.signers import CLIENT, FAULTS, NODE_CLIENT, NODE_SERVING
from kubeloop.arguments import Arguments
from kubeloop.authority import keep_authority

BOTH = "cannot specify default and per controller certs at the same time"


def parsed(*words: str) -> Signing:
    parser = Arguments("test", "")
    add_flags(parser)
    return signing_of(parser.parse_args(words))


@pytest.fixture
def files(tmp_path: Path) -> SigningFiles:
    files = SigningFiles(tmp_path / "ca.crt", tmp_path / "ca.key")
    keep_authority(files.certificate, files.key, "test", datetime(2026, 1, 2, tzinfo=UTC))
    return files


def flags_of(files: SigningFiles, which: str = "") -> list[str]:
    return [f"--cluster-signing-{which}cert-file={files.certificate}", f"--cluster-signing-{which}key-file={files.key}"]


def test_without_flags_nobody_signs() -> None:
    """As upstream, for a year at most."""
    assert Signing({}, 365 * 24 * 3600) == parsed()
    assert not parsed("--cluster-signing-cert-file=missing").files


def test_one_authority_for_all_signers(files: SigningFiles) -> None:
    """Or for as long as told."""
    assert Signing(dict.fromkeys(FAULTS, files), 7200) == parsed(*flags_of(files), "--cluster-signing-duration=2h")


def test_authorities_of_their_own(files: SigningFiles) -> None:
    """Who has none does not sign then; both ways at once are refused."""
    signing = parsed(*flags_of(files, "kubelet-serving-"), *flags_of(files, "kubelet-client-"))

    assert {NODE_SERVING: files, NODE_CLIENT: files} == signing.files
    with pytest.raises(SigningFlagsError, match=BOTH):
        parsed(*flags_of(files), *flags_of(files, "kube-apiserver-client-"))


def test_files_are_looked_at_before_anything_starts(files: SigningFiles) -> None:
    """One certificate and a key each; half of a pair is refused."""
    with pytest.raises(SigningFlagsError, match="expected 1 certificate, found 0"):
        parsed(*flags_of(SigningFiles(files.key, files.key)))
    with pytest.raises(SigningFlagsError, match="no private key"):
        parsed(*flags_of(SigningFiles(files.certificate, files.certificate)))
    with pytest.raises(SigningFlagsError, match="needs both"):
        parsed(f"--cluster-signing-kubelet-client-cert-file={files.certificate}")
    with pytest.raises(OSError):
        parsed(*flags_of(SigningFiles(files.certificate.with_name("other"), files.key)))


def test_files_may_be_made_later(tmp_path: Path) -> None:
    """Where the flag says so: nothing is read and nothing is made at the start."""
    files = SigningFiles(tmp_path / "a.crt", tmp_path / "a.key", made_when_missing=True)

    signing = parsed(*flags_of(files), "--make-cluster-signing-authority")

    assert files == signing.files[CLIENT]
    assert not files.certificate.exists()
