"""Names and identifiers the server makes up. Chance comes in as a `random.Random`, so a seed fixes them."""

from __future__ import annotations

import random

# k8s.io/apimachinery/pkg/util/rand: no vowels (no words by accident) and no look-alikes.
SAFE_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
MAX_GENERATED_BASE = 63 - _SUFFIX_LENGTH

# RFC 9562: four bits of a UUID say its version, two its variant; the others are chance.
_UUID_VERSION_4 = 0x4 << 76 | 0b10 << 62
_UUID_RANDOM = ~(0xF << 76 | 0b11 << 62)


def random_suffix(rng: random.Random, length: int = _SUFFIX_LENGTH) -> str:
    """`length` characters from the safe alphabet."""
    return "".join(rng.choices(SAFE_ALPHABET, k=length))


def generate_name(base: str, rng: random.Random) -> str:
    """What `generateName: base` becomes: at most 63 characters, the base cut to make room for the suffix."""
    return base[:MAX_GENERATED_BASE] + random_suffix(rng)


def new_uid(rng: random.Random) -> str:
    """A random (version 4) UUID."""
    digits = f"{rng.getrandbits(128) & _UUID_RANDOM | _UUID_VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def safe_encode(text: str) -> str:
    """rand.SafeEncodeString: the same length, from the safe alphabet only (pod-template hashes are written so)."""
    return "".join(SAFE_ALPHABET[byte % len(SAFE_ALPHABET)] for byte in text.encode())
