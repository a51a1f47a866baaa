"""Signing and verifying JSON web tokens."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kubeloop.tokens import jwt, keys
from kubeloop.tokens.keys import PrivateKey

KEYS = {
    "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "ES384": ec.generate_private_key(ec.SECP384R1()),
    "ES512": ec.generate_private_key(ec.SECP521R1()),
}
CLAIMS = {"sub": "alice", "aud": ["here"]}


def part(value: object) -> str:
    return jwt.base64url(json.dumps(value).encode())


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_token_is_verified_by_its_key(algorithm: str) -> None:
    """Each kind of key signs with its own algorithm, which the header names with the key."""
    key = PrivateKey.of(KEYS[algorithm])

    token = jwt.take_apart(jwt.encode(CLAIMS, key))

    assert token is not None
    assert CLAIMS == token.claims
    assert {"alg": algorithm, "kid": key.public.key_id} == token.header
    assert token.is_signed_by_any([key.public])


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_changed_token_is_not_verified(algorithm: str) -> None:
    """Neither with other claims nor with a cut signature."""
    key = PrivateKey.of(KEYS[algorithm])
    header, _, signature = jwt.encode(CLAIMS, key).split(".")

    for changed in (f"{header}.{part({'sub': 'bob'})}.{signature}", f"{header}.{part(CLAIMS)}.{signature[:-8]}"):
        token = jwt.take_apart(changed)
        assert token is not None and not token.is_signed_by_any([key.public])


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES256", None])
def test_no_token_chooses_its_algorithm(algorithm: str | None) -> None:
    """A header that names another algorithm than the key's makes the token worthless, even over a right signature."""
    key = PrivateKey.of(KEYS["RS256"])
    signed = f"{part({'alg': algorithm, 'kid': key.public.key_id})}.{part(CLAIMS)}"

    token = jwt.take_apart(f"{signed}.{jwt.base64url(key.sign(signed.encode()))}")

    assert token is not None and not token.is_signed_by_any([key.public])


@pytest.mark.parametrize(
    "text",
    ["", "a.b", "a.b.c.d", "?.?.?", "e30=.e30.AA", "e30.W10.AA", "e3+.e30.AA", "é.e30.AA", f"e30.e30.{'A' * 70_000}"],
)
def test_what_is_no_token(text: str) -> None:
    """Wrong parts, padding, another alphabet, no object, too long: None, and never an exception."""
    assert jwt.take_apart(text) is None


@pytest.mark.parametrize("algorithm", KEYS)
def test_keys_survive_their_files(algorithm: str) -> None:
    """A key written and read again has the same name; so have its public half and both in one file."""
    key = PrivateKey.of(KEYS[algorithm])
    public = (
        KEYS[algorithm]
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )

    read = keys.read_public_keys(public + key.to_pem())

    assert key.public.key_id == keys.read_private_key(key.to_pem()).public.key_id
    assert [key.public.key_id] * 2 == [one.key_id for one in read]


def test_the_web_key_of_an_rsa_key() -> None:
    """Modulus and exponent, as relying parties read them."""
    key = PrivateKey.of(KEYS["RS256"])

    web_key = key.public.web_key()

    modulus = int.from_bytes(base64.urlsafe_b64decode(web_key["n"] + "=="), "big")
    assert KEYS["RS256"].public_key().public_numbers().n == modulus
    assert ("sig", "RSA", key.public.key_id, "RS256", "AQAB") == tuple(
        web_key[name] for name in ("use", "kty", "kid", "alg", "e")
    )


@pytest.mark.parametrize("text", [b"", b"no key", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_a_file_without_a_key(text: bytes) -> None:
    """It is said, as an error of one kind."""
    with pytest.raises(keys.KeyFileError):
        keys.read_public_keys(text)
