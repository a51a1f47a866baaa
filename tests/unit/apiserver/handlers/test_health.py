"""The health endpoints' output. Words and layout are the real server's."""

from __future__ import annotations

import pytest

from apiserver.handlers.health import Check, Health
from kubeloop.apimachinery.exposition import text


def health(reason: str = "") -> Health:
    return Health(
        {"readyz": [Check("ping"), Check("etcd", lambda: reason), Check("poststarthook/rbac/bootstrap-roles")]}
    )


@pytest.mark.parametrize(
    ("reason", "query", "status", "body"),
    [
        ("", {}, 200, "ok"),
        (
            "",
            {"verbose": [""]},
            200,
            "[+]ping ok\n[+]etcd ok\n[+]poststarthook/rbac/bootstrap-roles ok\nreadyz check passed\n",
        ),
        (
            "",
            {"verbose": ["1"], "exclude": ["etcd", "b", "a"]},
            200,
            "[+]ping ok\n[+]etcd excluded: ok\n[+]poststarthook/rbac/bootstrap-roles ok\n"
            'warn: some health checks cannot be excluded: no matches for "a","b"\nreadyz check passed\n',
        ),
        (
            "disk gone",
            {},
            500,
            "[+]ping ok\n[-]etcd failed: reason withheld\n[+]poststarthook/rbac/bootstrap-roles ok\n"
            "readyz check failed\n",
        ),
        ("disk gone", {"exclude": ["etcd"]}, 200, "ok"),
    ],
)
def test_all_checks_of_an_endpoint(reason: str, query: dict[str, list[str]], status: int, body: str) -> None:
    """Short where all is well, each check where one failed or somebody wants to know; the reason is withheld."""
    response = health(reason).all("readyz", query)

    assert (status, body) == (response.status, response.body.decode())


def test_one_check_says_why_it_fails() -> None:
    """Its path may be asked by few."""
    good, bad = health().one("readyz", "poststarthook/rbac/bootstrap-roles"), health("disk gone").one("readyz", "etcd")
    assert good is not None
    assert bad is not None

    assert (200, b"ok") == (good.status, good.body)
    assert (500, b"internal server error: disk gone\n") == (bad.status, bad.body)
    assert health().one("readyz", "none") is None


def test_indicators_count_results() -> None:
    """The last result of each check, and how many there were of each."""
    reasons = ["", "disk gone"]
    asked = Health({"livez": [Check("etcd", lambda: reasons.pop(0))]})
    asked.all("livez", {})
    asked.all("livez", {})

    lines = [line for line in text(asked.families()).splitlines() if not line.startswith("#")]
    assert [
        'kubernetes_healthcheck{name="etcd",type="livez"} 0',
        'kubernetes_healthchecks_total{name="etcd",status="success",type="livez"} 1',
        'kubernetes_healthchecks_total{name="etcd",status="error",type="livez"} 1',
    ] == lines
