"""URLs as Go's net/url takes them apart, and what it finds wrong with them, in its words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from kubeloop.apimachinery.field import go_quote


class UrlError(ValueError):
    """Why a text is no URL: `parse "https://a:b": invalid port ":b" after host`."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts, decoded but for `query`. `user` is None where there is none, and reads `name:password`."""

    scheme: str = ""
    user: str | None = None
    host: str = ""
    path: str = ""
    query: str = ""
    fragment: str = ""


def parse_url(text: str) -> Url:
    """Raises UrlError."""
    rest, _, fragment = text.partition("#")
    try:
        url = _parse(rest)
    except ValueError as error:
        raise UrlError(f"parse {go_quote(rest)}: {error}") from None
    if not fragment:
        return url
    try:
        decoded = _unescape(fragment)
    except ValueError as error:
        raise UrlError(f"parse {go_quote(text)}: {error}") from None
    return Url(url.scheme, url.user, url.host, url.path, url.query, decoded)


_has_control_character = re.compile(r"[\x00-\x1f\x7f]").search
_scheme_of = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):").match
_is_port = re.compile(r"(:[0-9]*)?").fullmatch
_is_user = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*").fullmatch
_bad_escape = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}", re.DOTALL).search
# A host may hold what stands for no part of a URL; of escapes only those of further characters, and of `%` itself.
_bad_host = re.compile(r"%(?:2(?!5)|[013-7])[0-9a-fA-F]").search
_bad_in_host = re.compile("[^A-Za-z0-9\\-_.~!$&'()*+,;=:\\[\\]<>\"%\u0080-\U0010ffff]").search


def _parse(text: str) -> Url:
    if _has_control_character(text):
        raise ValueError("net/url: invalid control character in URL")
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    found = _scheme_of(text)
    scheme, rest = (found[1].lower(), text[found.end() :]) if found else ("", text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, query=query)  # mailto:alice@example.com
        if ":" in rest.partition("/")[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    user, host = None, ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        user, host = _authority(authority)
        rest = slash + path
    return Url(scheme, user, host, _unescape(rest), query)


def _authority(text: str) -> tuple[str | None, str]:
    user, at, host = text.rpartition("@")
    found = _host(host)
    if not at:
        return None, found
    if not _is_user(user):
        raise ValueError("net/url: invalid userinfo")
    _unescape(user)
    return user, found


def _host(text: str) -> str:
    if "[" in text:
        if "]" not in text:
            raise ValueError("missing ']' in host")
        port = text[text.rindex("]") + 1 :]
    else:
        port = text[text.index(":") :] if ":" in text else ""
    if not _is_port(port):
        raise ValueError(f"invalid port {go_quote(port)} after host")
    if (found := _bad_escape(text)) or (found := _bad_host(text)):
        raise ValueError(f"invalid URL escape {go_quote(found[0])}")
    if found := _bad_in_host(text):
        raise ValueError(f"invalid character {go_quote(found[0])} in host name")
    return unquote(text)


def _unescape(text: str) -> str:
    if found := _bad_escape(text):
        raise ValueError(f"invalid URL escape {go_quote(found[0])}")
    return unquote(text)
