"""Names the server makes up."""

from __future__ import annotations

import random
import uuid

from kubeloop.apimachinery.names import new_uid


def test_uids_are_random_uuids_as_pythons_own():
    """Version 4 of RFC 9562, spelled with its dashes; a seed fixes them."""
    uids = [new_uid(random.Random(seed)) for seed in range(100)]

    assert [str(uuid.UUID(int=random.Random(seed).getrandbits(128), version=4)) for seed in range(100)] == uids
