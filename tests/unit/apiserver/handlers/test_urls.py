"""URLs that are spelled oddly, and bodies whose media types are."""

from __future__ import annotations

import pytest

from apiserver.handlers.media_parameters import are_well_formed
from apiserver.handlers.request import parse_query
from tests.testkit.asking import Answer, Asking, on_a_server

NO_RESOURCE = "the server could not find the requested resource"


def got(path: str) -> Answer:
    async def scenario(asking: Asking) -> Answer:
        return await asking(f"GET {path}")

    return on_a_server(scenario)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/v1/namespaces/", "NamespaceList"),
        ("/api/v1/namespaces/default%2Fpods", "PodList"),
        ("/api/v1/namespaces/%64efault//", "Namespace"),
        ("/api/v1/namespaces?limit=%zz", "NamespaceList"),
    ],
)
def test_spellings_that_mean_the_same(path: str, kind: str) -> None:
    """Slashes at the end mean nothing, escapes are read before the path is taken apart, bad parameters passed over."""
    answer = got(path)

    assert (200, kind) == (answer.status, answer.json["kind"])


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/api//v1/namespaces", 404, NO_RESOURCE),
        ("/apis/apps//v1/deployments", 404, NO_RESOURCE),
        ("/api/v1/./namespaces", 404, NO_RESOURCE),
        ("/apis//apps", 404, "404 page not found"),
        ("//api/v1/namespaces", 404, "404 page not found"),
        ("/api/v1/namespaces/%zz", 400, "400 Bad Request"),
    ],
)
def test_spellings_that_lead_nowhere(path: str, code: int, text: str) -> None:
    """No path is cleaned: slashes in a row and dots are taken as they are."""
    answer = got(path)

    assert code == answer.status
    assert text in answer.body.decode()


def test_parameters_that_go_passes_over() -> None:
    """Those with semicolons, and with escapes that are none."""
    assert {"a": ["1"], "d": ["%"]} == parse_query(b"a=1&b=%zz&c;c=2&d=%25")


@pytest.mark.parametrize(
    ("content_type", "is_good"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ('application/json;a="b;c" ; d=e', True),
        ("application/json;", True),
        ("application/json;a=b;A=b", True),
        ("application/json;a=b;a=c", False),
        ("application/json;;x", False),
        ("application/json;charset", False),
        ("application/json;x=", False),
        ('application/json; x="', False),
    ],
)
def test_parameters_of_media_types(content_type: str, is_good: bool) -> None:
    """Each has a name and a value; a body with others is of an unknown format."""
    assert is_good == are_well_formed(content_type)


def test_a_body_of_an_ill_formed_media_type_is_refused() -> None:
    """The parameters mean nothing, but must be some."""

    async def scenario(asking: Asking) -> Answer:
        return await asking("POST /api/v1/namespaces", {"metadata": {"name": "x"}}, content_type="application/json;;x")

    assert 415 == on_a_server(scenario).status
