"""Texts of the web as Go reads them: host names, URIs of requests, and mail addresses.

Facts: kube-openapi/pkg/validation/strfmt for host names; Go's net/url (ParseRequestURI) and net/mail (ParseAddress).
"""

from __future__ import annotations

import re

from kubeloop.apimachinery import addresses, go_regexp

_LONGEST_HOSTNAME, _LONGEST_LABEL = 255, 63  # in bytes
_LETTER = r"\p{S}\p{L}"
_WORD = f"[a-zA-Z0-9{_LETTER}]"
_LABEL = f"{_WORD}([a-zA-Z0-9-{_LETTER}]{{0,61}}{_WORD})?"
# One label may have a dash only behind its first letter; several labels end in a word of letters.
_HOSTNAME = rf"^({_WORD}(-?{_WORD}{{0,62}})?|({_LABEL}\.)+[a-zA-Z\p{{L}}]{{2,63}})$"

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_BAD_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_HOST = re.compile(r"""[^\x00-\x20"\\^`{|}/?#%]*""")
_HOST_ESCAPE = re.compile("%(?!25|[2-9A-Fa-f][0-9A-Fa-f])")
_PORT = re.compile(r"(:[0-9]*)?")

_ATOM = r"[^\x00-\x20()<>\[\]:;@\\,.\"\x7f]+"
_QUOTED = r'"(?:[^\x00-\x08\x0a-\x1f"\\\x7f]|\\[\x20-\x7e\t])*"'
_DOTTED = rf"{_ATOM}(?:\.{_ATOM})*"
_ADDRESS = rf"(?:{_DOTTED}|{_QUOTED})@(?:{_DOTTED}|\[(?P<literal>[^\[\]\\]*)\])"
_NAME = rf"(?:[ \t]*(?:{_ATOM}\.?|\.|{_QUOTED}))*"
_COMMENT = r"[ \t]*(?:\([^()\\]*\)[ \t]*)*"
_EMAIL = re.compile(rf"[ \t]*(?:{_ADDRESS}|{_NAME}[ \t]*<{_ADDRESS.replace('literal', 'inner')}>){_COMMENT}")


def is_hostname(text: str) -> bool:
    if len(text.encode()) > _LONGEST_HOSTNAME or any(len(p.encode()) > _LONGEST_LABEL for p in text.split(".")):
        return False
    return go_regexp.compile_pattern(_HOSTNAME).matches(text)


def is_request_uri(text: str) -> bool:
    """An absolute URI or an absolute path."""
    if not text or _CONTROL.search(text):
        return False
    if text == "*":
        return True
    scheme = _SCHEME.match(text)
    rest = (text[scheme.end() :] if scheme else text).partition("?")[0]
    if not rest.startswith("/"):
        return scheme is not None
    if rest.startswith("//") and scheme is not None:
        authority, slash, path = rest[2:].partition("/")
        if not _is_authority(authority):
            return False
        rest = slash + path
    return _BAD_ESCAPE.search(rest) is None


def _is_authority(text: str) -> bool:
    user, at, host = text.rpartition("@")
    if at and (not _USER.fullmatch(user) or _BAD_ESCAPE.search(user)):
        return False
    if host.startswith("["):
        inside, bracket, port = host[1:].rpartition("]")
        address = inside.partition("%25")[0]
        return bool(bracket) and addresses.parse_ip(address) is not None and ":" in address and _is_port(port)
    name, colon, port = host.rpartition(":")
    name, port = (name, colon + port) if colon else (host, "")
    return _HOST.fullmatch(name.replace("%", "")) is not None and not _HOST_ESCAPE.search(name) and _is_port(port)


def _is_port(text: str) -> bool:
    return _PORT.fullmatch(text) is not None


def is_email(text: str) -> bool:
    """`alice@example.com`, with or without a name before it."""
    match = _EMAIL.fullmatch(text)
    if match is None:
        return False
    literal = match["literal"] if match["literal"] is not None else match["inner"]
    return literal is None or addresses.parse_ip(literal.removeprefix("IPv6:")) is not None
