"""How many requests the gate knew the user of, and how many it let through, under upstream's names.

Names and labels are those of endpoints/filters/metrics.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.apimachinery.exposition import COUNTER, Family, Sample

_KNOWN = frozenset({"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"})


class GateMetrics:
    """Plain numbers, as every request passes here."""

    def __init__(self) -> None:
        self.succeeded = self.failed = 0  # to say who asks
        self.allowed = self.not_allowed = 0
        self._users: dict[str, int] = {}  # as many as there are shown names

    def known(self, name: str) -> None:
        """Somebody proved who he is."""
        self.succeeded += 1
        shown = name if name in _KNOWN else "email_id" if "@" in name else "other"
        self._users[shown] = self._users.get(shown, 0) + 1

    def families(self) -> Iterator[Family]:
        yield Family(
            "authenticated_user_requests",
            COUNTER,
            "[ALPHA] Counter of authenticated requests broken out by username.",
            [Sample({"username": name}, count) for name, count in sorted(self._users.items())],
        )
        yield Family(
            "authentication_attempts",
            COUNTER,
            "[ALPHA] Counter of authenticated attempts.",
            _results(failure=self.failed, success=self.succeeded),
        )
        yield Family(
            "authorization_attempts_total",
            COUNTER,
            "[ALPHA] Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', "
            "'no-opinion' or 'error'.",
            _results(allowed=self.allowed, **{"no-opinion": self.not_allowed}),
        )


def _results(**counts: int) -> list[Sample]:
    return [Sample({"result": result}, count) for result, count in counts.items() if count]
