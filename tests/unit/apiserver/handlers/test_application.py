"""Answers outside /api and /apis."""

from __future__ import annotations

import pytest

from tests.testkit.exchange import Ask, exchange

CURL = {"user-agent": "curl/8"}


@pytest.mark.parametrize("path", ["/metrics", "/nowhere"])
def test_refusals_are_indented_for_those_who_read_them(path: str) -> None:
    """As below /api: curl gets lines, a program does not."""
    for_people, for_programs = exchange(
        Ask("GET", path, more={**CURL, "authorization": "Bearer none"}),
        Ask("GET", path, more={"authorization": "Bearer none"}),
        knows_certificates=True,
    )

    assert for_people.text.startswith('{\n  "kind": "Status",\n')
    assert for_programs.text.startswith('{"kind":"Status",')
    assert (401, 401) == (for_people.status, for_programs.status)


def test_a_method_that_is_not_allowed_is_said_in_lines_too() -> None:
    """/version is only read."""
    answer = exchange(Ask("POST", "/version", {}, more=CURL))[0]

    assert 405 == answer.status
    assert answer.text.startswith('{\n  "kind": "Status",\n')


@pytest.mark.parametrize("path", ["/nowhere", "/version", "/healthz", "/metrics", "/"])
def test_answers_are_not_kept(path: str) -> None:
    """What is read may have changed the next moment, whatever it is."""
    assert "no-cache, private" == exchange(Ask("GET", path))[0].headers["cache-control"]


def test_keys_may_be_kept_as_they_say() -> None:
    """Those documents name a time of their own."""
    answer = exchange(Ask("GET", "/openid/v1/jwks"))[0]

    assert ["public, max-age=3600"] == [value for name, value in answer.headers.items() if name == "cache-control"]


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize("origin", ["http://page.example", "null", "http://127.0.0.1:3000"])
@pytest.mark.parametrize(
    ("method", "path"), [("POST", CONFIG_MAPS), ("DELETE", f"{CONFIG_MAPS}/a"), ("POST", "/version")]
)
def test_web_pages_of_others_write_nothing(origin: str, method: str, path: str) -> None:
    """A browser sends such a POST for any page, without a Content-Type and without asking; it says where it is from."""
    headers = {"origin": origin, "host": "127.0.0.1:8001"}
    answer = exchange(Ask(method, path, {"metadata": {"name": "a"}}, more=headers))[0]

    assert 403 == answer.status
    assert f'the Origin header names \\"{origin}\\": web pages of others may not write here' in answer.text


OF_ITSELF = {"origin": "http://127.0.0.1:8001", "host": "127.0.0.1:8001"}
OF_A_DASHBOARD = {**OF_ITSELF, "origin": "http://localhost:4466", "sec-fetch-site": "same-origin"}


@pytest.mark.parametrize("headers", [{}, OF_ITSELF, OF_A_DASHBOARD], ids=["program", "own page", "dashboard"])
def test_everybody_else_writes(headers: dict[str, str]) -> None:
    """Programs say no Origin, and a dashboard hands on what its own page sent to it."""
    assert 201 == exchange(Ask("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, more=headers))[0].status
