"""What an image reference says about pulling: the tag `latest`, written or implied, is pulled Always."""

from __future__ import annotations

import re
from functools import lru_cache

# github.com/distribution/reference: [domain/]path[:tag][@digest]. A reference that does not parse has no tag at all.
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DOMAIN_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_LABEL}(?:\.{_DOMAIN_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_REFERENCE = re.compile(
    rf"(?:(?P<domain>{_DOMAIN})/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_BARE_IDENTIFIER = re.compile(r"[a-f0-9]{64}")


@lru_cache(maxsize=4096)
def default_pull_policy(image: str) -> str:
    """`Always` for the tag latest (also where neither tag nor digest is given), else `IfNotPresent`."""
    match = _REFERENCE.fullmatch(image)
    if match is None or _BARE_IDENTIFIER.fullmatch(image):
        return "IfNotPresent"
    if match["digest"] and not match["tag"]:
        return "IfNotPresent"
    return "Always" if (match["tag"] or "latest") == "latest" else "IfNotPresent"
