"""The minor versions of Kubernetes whose API can be served, and how they are spelled.

Each differs from the others in fields and kinds only (the OpenAPI definitions of `kubernetes-validate`); what a kind
does is that of DEFAULT everywhere.
"""

from __future__ import annotations

RELEASES = ("1.33", "1.34", "1.35", "1.36", "1.37")
DEFAULT = "1.36"


def release(text: str) -> str:
    """One of RELEASES, written `1.36` or `v1.36`. ValueError names them all."""
    minor = text.removeprefix("v")
    if minor not in RELEASES:
        raise ValueError(f"{text!r} is none of the Kubernetes versions that can be served: {', '.join(RELEASES)}")
    return minor


def is_since(release: str, first: str) -> bool:
    """Whether `release` is `first` or a later one."""
    return RELEASES.index(release) >= RELEASES.index(first)


def git_version(minor: str) -> str:
    """As components say it of themselves: `v1.36.0`."""
    return f"v{minor}.0"
