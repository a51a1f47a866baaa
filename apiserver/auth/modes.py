"""--authorization-mode: which authorizers are asked, and in which order.

The words of refusals are those of pkg/kubeapiserver/options/authorization.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apiserver.auth.authorization import AlwaysAllow, AlwaysDeny, Authorizer, Masters, Union

ALWAYS_ALLOW, ALWAYS_DENY, NODE, RBAC = "AlwaysAllow", "AlwaysDeny", "Node", "RBAC"
# Modes of the real server that need a file which this one has no flag for.
_NEEDS_FILE = {
    "ABAC": "authorization-mode ABAC's authorization policy file not passed",
    "Webhook": "authorization-mode Webhook's authorization config file not passed",
}
_KNOWN = (ALWAYS_ALLOW, ALWAYS_DENY, NODE, RBAC, *_NEEDS_FILE)


class ModeError(ValueError):
    """The flag names modes that are not there, or one twice, or none."""


def check_modes(modes: Sequence[str]) -> None:
    """Raises ModeError with everything that is wrong."""
    reasons = [] if modes else ["at least one authorization-mode must be passed"]
    for mode in modes:
        if mode not in _KNOWN:
            reasons.append(f'authorization-mode "{mode}" is not a valid mode')
        elif mode in _NEEDS_FILE:
            reasons.append(_NEEDS_FILE[mode])
    if len(set(modes)) != len(modes):
        listed = " ".join(f'"{mode}"' for mode in modes)
        reasons.append(f"authorization-mode [{listed}] has mode specified more than once")
    if reasons:
        raise ModeError(reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]")


def authorizer_of(modes: Sequence[str], nodes: Authorizer, rbac: Authorizer) -> Authorizer:
    """The authorizers of some modes, asked in their order; members of system:masters are let in before all of them."""
    of_mode: Mapping[str, Authorizer] = {
        ALWAYS_ALLOW: AlwaysAllow(),
        ALWAYS_DENY: AlwaysDeny(),
        NODE: nodes,
        RBAC: rbac,
    }
    asked = [of_mode[mode] for mode in modes]
    return Masters(asked[0] if len(asked) == 1 else Union(asked))
