"""Content negotiation: which form an answer takes, from the Accept header.

JSON and YAML are written; protobuf is read (kubectl's request bodies) and never written, which every client accepts
that names JSON as well. Tables and PartialObjectMetadata are asked for with parameters of the media type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from kubeloop.apimachinery.errors import NotAcceptable

JSON, YAML, PLAIN = "application/json", "application/yaml", "text/plain"
PROTOBUF = "application/vnd.kubernetes.protobuf"

_REPRESENTATIONS = (
    "406: Not Acceptable\n\nAvailable representations: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)
_STREAMS = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
STREAMS_ONLY = (
    "only the following media types are accepted: application/json;stream=watch, "
    "application/vnd.kubernetes.protobuf;stream=watch"
)
_MEDIA_TYPES = (
    "only the following media types are accepted: application/json, application/yaml, "
    "application/vnd.kubernetes.protobuf"
)
_PAGE_MEDIA_TYPES = "only the following media types are accepted: application/json, application/yaml, text/plain"
# What the pages about the server itself are called where a program asks for one.
PAGE_GROUP = "config.k8s.io"
_PAGE_VERSIONS = ("v1alpha1", "v1beta1")
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
    _check_route(clauses, _STREAMS if may_stream else "")
    return _first_form(clauses)


@lru_cache(256)
def negotiate_custom(accept: str) -> Form:
    """The same for custom resources, which refuse in other words and understand application/*."""
    clauses = _parse(accept)
    return _first_form(clauses) if clauses else Form()


@lru_cache(256)
def negotiate_plain(accept: str, is_route: bool = False) -> Form:
    """The form of a document that is neither printed as a Table nor has metadata.

    `is_route`: go-restful looks at the media type first, and refuses in its own words.
    """
    clauses = _parse(accept)
    if is_route and clauses:
        _check_route(clauses, "")
    return _first_form(clauses, may_transform=False) if clauses else Form()


@lru_cache(256)
def negotiate_page(accept: str, kind: str) -> Form:
    """The form of a page for people: text. A program that names the page's kind gets it as an object."""
    if not accept.strip():
        return Form(PLAIN)
    for clause in _parse(accept):
        form = _page_form(clause, kind)
        if form is not None:
            return form
    raise NotAcceptable(_PAGE_MEDIA_TYPES)


def _page_form(clause: _Clause, kind: str) -> Form | None:
    asked = clause.parameters
    if asked.get("sv") or asked.get("stream"):
        return None
    if not asked.keys() & {"as", "g", "v"}:
        return Form(PLAIN) if clause.media_type in (PLAIN, "text/*", "*/*") else None
    is_known = asked.get("as") == kind and asked.get("g") == PAGE_GROUP and asked.get("v") in _PAGE_VERSIONS
    if not is_known or clause.media_type not in (JSON, YAML, "application/*", "*/*"):
        return None
    return Form(YAML if clause.media_type == YAML else JSON, kind, asked["v"])


def first_accepted(accept: str, media_types: Sequence[str]) -> str:
    """The one of `media_types` that a client accepts best, "" where there is none; any for a client that says none."""
    for clause in _parse(accept or "*/*"):
        for media_type in media_types:
            kind = media_type.partition("/")[0]
            if clause.media_type in (media_type, f"{kind}/*", "*/*"):
                return media_type
    return ""


def _check_route(clauses: list[_Clause], more: str) -> None:
    if not any(clause.media_type in (JSON, YAML, PROTOBUF, "*/*") for clause in clauses):
        raise NotAcceptable(_REPRESENTATIONS + more, details={})


def _first_form(clauses: list[_Clause], *, may_transform: bool = True) -> Form:
    for clause in clauses:
        form = _form(clause)
        if form is not None and (may_transform or not form.transform):
            return form
    raise NotAcceptable(_MEDIA_TYPES)


def _form(clause: _Clause) -> Form | None:
    if clause.media_type not in (JSON, YAML, "*/*", "application/*"):
        return None
    media_type = YAML if clause.media_type == YAML else JSON
    parameters = clause.parameters
    stream = parameters.get("stream", "")
    if stream and (stream != "watch" or media_type == YAML):
        return None
    if parameters.get("sv", "v1") not in ("", "v1"):
        return None
    if not parameters.keys() & {"as", "g", "v"}:
        return Form(media_type)
    transform, version = parameters.get("as", ""), parameters.get("v", "")
    if transform in _TRANSFORMS and parameters.get("g") == "meta.k8s.io" and version in ("v1", "v1beta1"):
        return Form(media_type, transform, version)
    return None


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
    return sorted(clauses, key=_rank)


def _rank(clause: _Clause) -> tuple[float, bool, bool]:
    """The better quality first, and of equals what is named before what is meant by a *."""
    kind, _, subtype = clause.media_type.partition("/")
    return -clause.quality, kind == "*", subtype == "*"
