"""Names and identifiers the server makes up. Chance comes in as a `random.Random`, so a seed fixes them."""

from __future__ import annotations

import random
import uuid

# k8s.io/apimachinery/pkg/util/rand: no vowels (no words by accident) and no look-alikes.
SAFE_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
MAX_GENERATED_BASE = 63 - _SUFFIX_LENGTH


def random_suffix(rng: random.Random, length: int = _SUFFIX_LENGTH) -> str:
    """`length` characters from the safe alphabet."""
    return "".join(rng.choices(SAFE_ALPHABET, k=length))


def generate_name(base: str, rng: random.Random) -> str:
    """What `generateName: base` becomes: at most 63 characters, the base cut to make room for the suffix."""
    return base[:MAX_GENERATED_BASE] + random_suffix(rng)


def new_uid(rng: random.Random) -> str:
    """A random (version 4) UUID."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def safe_encode(text: str) -> str:
    """rand.SafeEncodeString: the same length, from the safe alphabet only (pod-template hashes are written so)."""
    return "".join(SAFE_ALPHABET[byte % len(SAFE_ALPHABET)] for byte in text.encode())
