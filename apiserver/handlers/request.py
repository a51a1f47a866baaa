"""The URL of an API request, taken apart: `/apis/apps/v1/namespaces/x/deployments/web/status?dryRun=All`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import parse_qs, unquote

from apiserver.registry.catalog import Catalog, Kind
from apiserver.registry.options import Query
from kubeloop.apimachinery.errors import NotFound, UnknownPath
from kubeloop.apimachinery.values import value

# Subresources of a namespace itself, which share their path with the resources inside one.
_NAMESPACE_SUBRESOURCES = ("status", "finalize")
_NO_QUERY: Query = {}
_bad_escape = re.compile("%(?![0-9A-Fa-f]{2})")


@value
class Target:
    """What a path names. `tail` is what follows a proxying subresource (`services/web/proxy/TAIL`)."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    is_watch: bool = False  # the old form, /api/v1/watch/…
    tail: str = ""


def parse_query(query_string: bytes) -> Query:
    """Query parameters, each with all its values; a parameter without a value has the value "".

    Go passes over those with a semicolon or an escape that is none.
    """
    if not query_string:
        return _NO_QUERY
    text = query_string.decode("latin-1")
    if ";" in text or has_bad_escape(text):
        text = "&".join(pair for pair in text.split("&") if ";" not in pair and not has_bad_escape(pair))
    return parse_qs(text, keep_blank_values=True)


def has_bad_escape(text: str) -> bool:
    """Whether a `%` is followed by anything but two hexadecimal digits."""
    return "%" in text and _bad_escape.search(text) is not None


def split_path(path: str) -> list[str]:
    """The path's segments; a slash at the end means nothing, an escaped slash is one."""
    return (unquote(path) if "%" in path else path).strip("/").split("/")


def find_target(catalog: Catalog, group: str, version: str, segments: Sequence[str]) -> Target:
    """The resource behind the segments that follow the version; UnknownPath where none is served."""
    segments = list(segments)
    if "" in segments and "proxy" not in segments:  # of slashes in a row; what follows a proxy is not for this server
        raise UnknownPath
    is_watch = segments[:1] == ["watch"]
    if is_watch:
        segments = segments[1:]
    namespace = ""
    if segments[:1] == ["namespaces"] and len(segments) > 2 and not _is_namespace_subresource(group, segments):
        namespace, segments = segments[1], segments[2:]
    if not segments:
        raise UnknownPath
    plural, name, subresource, *tail = (*segments, *("",) * (3 - len(segments))) if len(segments) < 3 else segments
    kind = catalog.get(group, version, plural)
    if kind is None or "/" in name:
        raise UnknownPath
    _check_scope(kind, namespace, name)
    if subresource and kind.subresource(subresource) is None:
        raise NotFound.of(kind.plural, kind.group, name) if kind.is_custom else UnknownPath
    if tail and subresource != "proxy":
        raise UnknownPath
    return Target(kind, namespace, name, subresource, is_watch, "/".join(tail))


def _is_namespace_subresource(group: str, segments: Sequence[str]) -> bool:
    return not group and len(segments) == 3 and segments[2] in _NAMESPACE_SUBRESOURCES


def _check_scope(kind: Kind, namespace: str, name: str) -> None:
    """Cluster-scoped kinds live outside namespaces; one object of another is reached only through its namespace."""
    if namespace and not kind.resource.namespaced:
        raise UnknownPath
    if name and kind.resource.namespaced and not namespace:
        raise UnknownPath
