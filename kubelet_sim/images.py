"""The names of images: whether one can be read at all, in the words of distribution/reference as a kubelet uses it
(v1.36), and which image it is.

What is there behind a name is not asked: nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

_HUB, _OFFICIAL = "docker.io", "library/"
_LONGEST_PATH = 255
_SMALLEST_BYTES, _LARGEST_BYTES = 10_000_000, 200_000_000
_HEX_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_PATH = rf"{_PART}(?:/{_PART})*"
_DIGEST = r"(?P<algorithm>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*):(?P<hex>[0-9a-fA-F]{32,})"
_REFERENCE = re.compile(
    rf"(?P<domain>{_DOMAIN})/(?P<path>{_PATH})(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@{_DIGEST})?", re.ASCII
)
_IDENTIFIER = re.compile("[a-f0-9]{64}")


@lru_cache(maxsize=4096)  # pods of a template share their images; full: the least recent is read again
def name_error(image: str) -> str:
    """What a kubelet says of an image with this name; "" where it can be read."""
    why = _problem(image)
    return why and f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": {why}'


@lru_cache(maxsize=4096)  # as above
def reference(image: str) -> str:
    """The whole name of an image whose name can be read: with its registry, and with a tag or a digest."""
    registry, rest = _split(image)
    return f"{registry}/{rest}" if ":" in rest else f"{registry}/{rest}:latest"


def names(reference: str) -> list[str]:
    """What the image with this whole name is called in the status of a node: the short name, too, that pods use."""
    short = reference.removeprefix(f"{_HUB}/").removeprefix(_OFFICIAL)
    return [reference] if short == reference else [reference, short]


@lru_cache(maxsize=4096)  # as above
def size_bytes(reference: str) -> int:
    """Of the image with this whole name, always the same."""
    number = int.from_bytes(hashlib.sha256(reference.encode()).digest()[:8])
    return _SMALLEST_BYTES + number % (_LARGEST_BYTES - _SMALLEST_BYTES)


def never_pulled(image: str) -> str:
    """What it says where the image is not there and must not be pulled."""
    return f'Container image "{image}" is not present with pull policy of Never'


def _problem(image: str) -> str:
    if _IDENTIFIER.fullmatch(image):
        return f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings"
    domain, rest = _split(image)
    path = rest.partition(":")[0]
    if path != path.lower():
        return f"invalid reference format: repository name ({path}) must be lowercase"
    whole = f"{domain}/{rest}"
    found = _REFERENCE.fullmatch(whole)
    if found is None:
        is_upper = _REFERENCE.fullmatch(whole.lower()) is not None
        return "repository name must be lowercase" if is_upper else "invalid reference format"
    if len(found["path"]) > _LONGEST_PATH:
        return f"repository name must not be more than {_LONGEST_PATH} characters"
    return _digest_problem(found["algorithm"], found["hex"]) if found["algorithm"] else ""


def _split(image: str) -> tuple[str, str]:
    """The registry, which is Docker Hub where none is named, and the rest."""
    first, slash, rest = image.partition("/")
    if not slash:
        return _HUB, f"{_OFFICIAL}{image}"
    is_domain = first == "localhost" or any(one in first for one in ".:") or first != first.lower()
    domain, path = (first, rest) if is_domain else (_HUB, image)
    if domain == "index.docker.io":
        domain = _HUB
    return domain, path if "/" in path or domain != _HUB else f"{_OFFICIAL}{path}"


def _digest_problem(algorithm: str, encoded: str) -> str:
    length = _HEX_LENGTHS.get(algorithm)
    if length is None:
        return "unsupported digest algorithm"
    if len(encoded) != length:
        return "invalid checksum digest length"
    return "" if encoded == encoded.lower() else "invalid checksum digest format"
