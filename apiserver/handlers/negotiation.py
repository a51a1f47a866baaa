"""Content negotiation: which form an answer takes, from the Accept header.

JSON and YAML are written; protobuf is read (kubectl's request bodies) and never written, which every client accepts
that names JSON as well. Tables and PartialObjectMetadata are asked for with parameters of the media type.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from kubeloop.apimachinery.errors import NotAcceptable

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"

_REPRESENTATIONS = (
    "406: Not Acceptable\n\nAvailable representations: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)
_STREAMS = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
_MEDIA_TYPES = (
    "only the following media types are accepted: application/json, application/yaml, "
    "application/vnd.kubernetes.protobuf"
)
PARTIAL, PARTIAL_LIST = "PartialObjectMetadata", "PartialObjectMetadataList"
_TRANSFORMS = ("Table", PARTIAL, PARTIAL_LIST)


@dataclass(frozen=True, slots=True)
class Form:
    """How to write an answer. `transform` is "" (the object as it is), "Table" or "PartialObjectMetadata[List]"."""

    media_type: str = JSON
    transform: str = ""
    version: str = "v1"  # of meta.k8s.io, for a transform

    @property
    def content_type(self) -> str:
        return self.media_type


@dataclass(frozen=True, slots=True)
class _Clause:
    media_type: str
    parameters: dict[str, str]
    quality: float


@lru_cache(256)
def negotiate(accept: str, may_stream: bool = False) -> Form:
    """The first form the client accepts that can be written; NotAcceptable (406) where there is none.

    `may_stream`: a collection, of which a refusal also names the forms of its watch.
    """
    clauses = _parse(accept)
    if not clauses:
        return Form()
    known = False
    for clause in clauses:
        if clause.media_type not in (JSON, YAML, PROTOBUF, "*/*"):
            continue
        known = True
        if clause.media_type == PROTOBUF:
            continue
        form = _form(clause)
        if form is not None:
            return form
    if known:
        raise NotAcceptable(_MEDIA_TYPES)
    raise NotAcceptable(_REPRESENTATIONS + (_STREAMS if may_stream else ""), details={})


def _form(clause: _Clause) -> Form | None:
    media_type = YAML if clause.media_type == YAML else JSON
    transform = clause.parameters.get("as", "")
    if not transform:
        return Form(media_type)
    version = clause.parameters.get("v", "")
    if transform in _TRANSFORMS and clause.parameters.get("g") == "meta.k8s.io" and version in ("v1", "v1beta1"):
        return Form(media_type, transform, version)
    return None


def negotiate_custom(accept: str) -> Form:
    """The same for custom resources, which refuse in other words."""
    try:
        return negotiate(accept)
    except NotAcceptable as error:
        raise NotAcceptable(_MEDIA_TYPES) from error


def _parse(accept: str) -> list[_Clause]:
    clauses = []
    for text in accept.split(","):
        media_type, *parameters = [part.strip() for part in text.split(";")]
        if not media_type:
            continue
        values = dict(part.split("=", 1) for part in parameters if "=" in part)
        try:
            quality = float(values.pop("q", "1"))
        except ValueError:
            quality = 1.0
        clauses.append(_Clause(media_type, values, quality))
    return sorted(clauses, key=lambda clause: -clause.quality)
