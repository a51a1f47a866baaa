"""Which Pod Security level a namespace asks for: labels `pod-security.kubernetes.io/<mode>` and `<mode>-version`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kubeloop.apimachinery import field
from kubeloop.apimachinery.field import FieldError

PREFIX = "pod-security.kubernetes.io/"
MODES = ("enforce", "audit", "warn")
PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)  # from lax to strict
LATEST = "latest"

_MOST = 2**63 - 1  # as numbers are counted there

_version = re.compile(r"v1\.(0|[1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Policy:
    """A level as some minor version of Kubernetes defines it; `minor` None is the latest."""

    level: str = PRIVILEGED
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{LATEST if self.minor is None else f'v1.{self.minor}'}"

    @property
    def is_privileged(self) -> bool:
        return self.level == PRIVILEGED

    def is_from(self, minor: int) -> bool:
        """Whether the policy has what version 1.`minor` brought."""
        return self.minor is None or self.minor >= minor


@dataclass(frozen=True, slots=True)
class Policies:
    """What a namespace refuses, what it has written into the audit log, and what it warns of."""

    enforce: Policy = Policy()
    audit: Policy = Policy()
    warn: Policy = Policy()

    @property
    def are_privileged(self) -> bool:
        return self.enforce.is_privileged and self.audit.is_privileged and self.warn.is_privileged


_UNLABELLED = Policies()


def is_labelled(labels: Mapping[str, str]) -> bool:
    """Whether a namespace says anything about Pod Security: most do not, and are asked for with each of their pods."""
    return any(label.startswith(PREFIX) for label in labels)


def policies_of(labels: Mapping[str, str]) -> Policies:
    """The policies of a namespace. A level nobody understands is enforced as the strictest, and warns of nothing.

    A namespace that enforces warns of the same, where it does not say otherwise.
    """
    if not is_labelled(labels):
        return _UNLABELLED
    enforce = _policy(labels, "enforce", RESTRICTED)
    audit, warn = _policy(labels, "audit", PRIVILEGED), _policy(labels, "warn", PRIVILEGED)
    if PREFIX + "warn" not in labels and labels.get(f"{PREFIX}enforce") in LEVELS and not enforce.is_privileged:
        minor = warn.minor if f"{PREFIX}warn-version" in labels else enforce.minor
        warn = Policy(enforce.level, minor)
    return Policies(enforce, audit, warn)


def label_errors(labels: Mapping[str, str]) -> list[FieldError]:
    """What is wrong with the labels, for the refusal of the namespace."""
    errors: list[FieldError] = []
    if not is_labelled(labels):
        return errors
    for mode in MODES:
        level, version = PREFIX + mode, f"{PREFIX}{mode}-version"
        if level in labels and labels[level] not in LEVELS:
            detail = f"must be one of {', '.join(LEVELS)}"
            errors.append(field.invalid(field.key("metadata.labels", level), labels[level], detail))
        if version in labels and not _is_version(labels[version]):
            detail = 'must be "latest" or "v1.x"'
            errors.append(field.invalid(field.key("metadata.labels", version), labels[version], detail))
    return errors


def may_refuse_more(new: Policy, old: Policy) -> bool:
    """Whether pods that the old level let in have to be looked at anew: another version of a lower level, too."""
    if new == old or new.is_privileged:
        return False
    return new.minor != old.minor or LEVELS.index(new.level) > LEVELS.index(old.level)


def _policy(labels: Mapping[str, str], mode: str, otherwise: str) -> Policy:
    level = labels.get(PREFIX + mode, PRIVILEGED)
    minor = _minor_of(labels.get(f"{PREFIX}{mode}-version", LATEST))
    return Policy(level if level in LEVELS else otherwise, minor)


def _minor_of(text: str) -> int | None:
    """The minor version that a label names; None where it names the latest, or none that makes sense."""
    match = _version.fullmatch(text)
    minor = int(match[1]) if match else -1
    return minor if 0 <= minor <= _MOST else None


def _is_version(text: str) -> bool:
    return text == LATEST or _minor_of(text) is not None
