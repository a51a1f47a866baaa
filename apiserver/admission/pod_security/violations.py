"""What a pod does that a Pod Security level forbids, in the real server's words.

Runs the checks of a level over a pod: those of baseline first, then those of restricted, which replace some of them.
The checks are in `baseline.py` and `restricted.py`; the order there is that of the answers.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver.admission.pod_security import baseline, restricted
from apiserver.admission.pod_security.pod import Check, Pod, Violation
from apiserver.admission.pod_security.policy import RESTRICTED, Policy
from kubeloop.apimachinery.meta import ReadOnlyObject


def violations(policy: Policy, pod: ReadOnlyObject) -> list[Violation]:
    """Every kind of violation of the policy, none where all is well."""
    if policy.is_privileged:
        return []
    checks = baseline.CHECKS
    if policy.level == RESTRICTED:
        checks = tuple(check for check in checks if not _is_replaced(check, policy)) + restricted.CHECKS
    view = Pod(pod)
    found = (check(view, policy) for check in checks)
    return [violation for violation in found if violation is not None]


def _is_replaced(check: Check, policy: Policy) -> bool:
    since = restricted.REPLACED.get(check)
    return since is not None and policy.is_from(since)


def describe(found: Iterable[Violation]) -> str:
    """`host namespaces (hostNetwork=true), privileged (container "c" must not …)`."""
    return ", ".join(f"{violation.reason} ({violation.detail})" for violation in found)
