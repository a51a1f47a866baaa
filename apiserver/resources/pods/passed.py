"""Pod specs that passed a check before: the pods of a workload are all alike, and there may be thousands."""

from __future__ import annotations

import re

import orjson

from apiserver.resources.checks import NO_FIELDS
from kubeloop.apimachinery.meta import ReadOnlyObject

# Full: all are forgotten and checked again. Specs above this size are not remembered.
MAX_SPECS, MAX_BYTES = 500, 16_384

# What ServiceAccount admission calls the volume of a pod's token, in each pod by chance otherwise.
_is_token_volume = re.compile("kube-api-access-[a-z0-9]{5}").fullmatch
_TOKEN_VOLUME = b"\0"  # stands in no JSON text, so it is taken for nothing else


class Passed:
    """Remembers what one check found nothing wrong with; refusals and warnings are worked out each time.

    The check must look at nothing but spec, annotations and, for the names of claims, the pod's own name; names it may
    compare with each other and ask for their format. So the name of the token's volume does not count: it is of one
    format, and where it stands twice it is replaced twice.
    """

    def __init__(self) -> None:
        self._texts: set[bytes] = set()

    def __contains__(self, text: bytes) -> bool:
        return text in self._texts

    def add(self, text: bytes) -> None:
        if not text or len(text) > MAX_BYTES:
            return
        if len(self._texts) >= MAX_SPECS:
            self._texts.clear()
        self._texts.add(text)


def text_of(pod: ReadOnlyObject) -> bytes:
    """What a check looks at; b"" of pods whose own name counts."""
    spec = pod.get("spec") or NO_FIELDS
    volumes = spec.get("volumes")
    if volumes and any("ephemeral" in volume for volume in volumes):
        return b""
    text = orjson.dumps((spec, pod["metadata"].get("annotations")))
    if volumes and _is_token_volume(name := volumes[-1].get("name", "")):
        text = text.replace(b'"%b"' % name.encode(), _TOKEN_VOLUME)
    return text
