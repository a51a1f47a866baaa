"""/healthz, /livez and /readyz: named checks, each by itself below its endpoint, and all of them together.

Output and words are those of apiserver/pkg/server/healthz (v1.36): a failed check says its name and not why, as anybody
may ask; the check's own path, which few may ask, says why. `/metrics/slis` counts the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from apiserver.handlers.response import TEXT, Response
from kubeloop.apimachinery.exposition import COUNTER, GAUGE, Family, Sample
from kubeloop.apimachinery.field import go_quote

_PLAIN = [(b"x-content-type-options", b"nosniff")]


class Check(NamedTuple):
    """`fails` says why it fails, or "" where it does not."""

    name: str
    fails: Callable[[], str] = lambda: ""


class Health:
    """The checks of one server, by endpoint (`readyz`)."""

    def __init__(self, endpoints: Mapping[str, Sequence[Check]]) -> None:
        self.endpoints = endpoints
        # (check, endpoint) -> the last result; (check, endpoint, status) -> how many
        self._last: dict[tuple[str, str], bool] = {}
        self._counts: dict[tuple[str, str, str], int] = {}

    def all(self, endpoint: str, query: Mapping[str, Sequence[str]]) -> Response:
        """All checks but those excluded by name: `ok`, or each with its result where one failed or `?verbose` asks."""
        excluded = set(query.get("exclude") or ())
        unknown = excluded - {check.name for check in self.endpoints[endpoint]}
        lines, has_failed = [], False
        for check in self.endpoints[endpoint]:
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok")
                continue
            is_good = not check.fails()
            self._count(check.name, endpoint, is_good)
            lines.append(f"[+]{check.name} ok" if is_good else f"[-]{check.name} failed: reason withheld")
            has_failed |= not is_good
        if unknown:
            names = ",".join(map(go_quote, sorted(unknown)))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if has_failed:
            return _said("\n".join([*lines, f"{endpoint} check failed", ""]), 500)
        if "verbose" not in query:
            return _said("ok")
        return _said("\n".join([*lines, f"{endpoint} check passed", ""]))

    def one(self, endpoint: str, name: str) -> Response | None:
        """One check, with its reason where it fails; None where there is none of that name."""
        check = next((check for check in self.endpoints[endpoint] if check.name == name), None)
        if check is None:
            return None
        reason = check.fails()
        return _said(f"internal server error: {reason}\n", 500) if reason else Response(200, b"ok", TEXT)

    def paths(self) -> Iterator[str]:
        """Every path there is."""
        for endpoint, checks in self.endpoints.items():
            yield f"/{endpoint}"
            yield from (f"/{endpoint}/{check.name}" for check in checks)

    def families(self) -> Iterator[Family]:
        """What /metrics/slis says."""
        last = [Sample({"name": name, "type": kind}, is_good) for (name, kind), is_good in self._last.items()]
        yield Family(
            "kubernetes_healthcheck", GAUGE, "[STABLE] This metric records the result of a single healthcheck.", last
        )
        counts = [
            Sample({"name": name, "type": kind, "status": status}, count)
            for (name, kind, status), count in self._counts.items()
        ]
        described = "[STABLE] This metric records the results of all healthcheck."
        yield Family("kubernetes_healthchecks_total", COUNTER, described, counts)

    def _count(self, name: str, endpoint: str, is_good: bool) -> None:
        key = (name, endpoint, "success" if is_good else "error")
        self._counts[key] = self._counts.get(key, 0) + 1
        self._last[name, endpoint] = is_good


def _said(text: str, status: int = 200) -> Response:
    return Response(status, text.encode(), TEXT, _PLAIN)
