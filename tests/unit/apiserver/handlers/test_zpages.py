"""/statusz and /flagz of a server in the same process."""

from __future__ import annotations

import re

import pytest

from apiserver import flags
from tests.testkit.exchange import Answer, Ask, exchange

NOTICE = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only.\n"
)


def ask(path: str, accept: str = "*/*") -> Answer:
    shown = flags.shown(flags.parser().parse_args(["--port=4711", "--late-answers=0.4s"]))
    return exchange(Ask("GET", path, more={"accept": accept}), flags=shown)[0]


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain", "application/json;as=Statusz;g=x;v=v9, */*"])
def test_people_read_the_status_as_text(accept: str) -> None:
    """Since when it runs, its versions, where else to look; with upstream's words."""
    answer = ask("/statusz", accept)

    assert (200, "text/plain; charset=utf-8") == (answer.status, answer.headers["content-type"])
    assert answer.text.startswith(f"\napiserver statusz\n{NOTICE}\nStarted")
    assert re.search(r"\nUp\W+0 hr 00 min \d\d sec\n", answer.text)
    assert re.search(r"\nBinary version\W+1\.36\.0\nEmulation version\W+1\.36\n", answer.text)
    assert re.search(r"\nPaths\W+/flagz /healthz /livez /metrics /readyz /version\n$", answer.text)


@pytest.mark.parametrize("page", ["Statusz", "Flagz"])
def test_programs_that_name_the_kind_get_an_object(page: str) -> None:
    """In the version they name; the first one is deprecated."""
    path = f"/{page.lower()}"
    new = ask(path, f"application/json;as={page};g=config.k8s.io;v=v1beta1")
    old = ask(path, f"application/json;as={page};g=config.k8s.io;v=v1alpha1")

    assert (page, "config.k8s.io/v1beta1", {"name": "apiserver"}) == tuple(
        new.body[field] for field in ("kind", "apiVersion", "metadata")
    )
    assert not new.warnings
    assert "config.k8s.io/v1alpha1" == old.body["apiVersion"]
    assert [f"This version of the {path[1:]} endpoint is deprecated. Please use a newer version."] == old.warnings


def test_flags_are_shown_as_go_spells_them() -> None:
    """By name, in order, those that were not given too."""
    body = ask("/flagz", "application/json;as=Flagz;g=config.k8s.io;v=v1beta1").body["flags"]

    assert ("4711", "true", "1m0s", "400ms", "0s", "[RBAC]", "") == tuple(
        body[flag]
        for flag in (
            "port",
            "anonymous-auth",
            "request-timeout",
            "late-answers",
            "late-watches",
            "authorization-mode",
            "service-account-jwks-uri",
        )
    )
    text = ask("/flagz").text
    assert text.startswith(f"\napiserver flagz\n{NOTICE}")
    assert len(body) == len(re.findall(r"^[a-z-]+(?::|: |=| )", text.partition(NOTICE)[2], re.M))


@pytest.mark.parametrize(
    "accept",
    ["application/json", "application/xml", "application/json;v=v1beta1;g=config.k8s.io", "text/plain;as=Flagz"],
)
def test_a_program_that_does_not_name_the_kind_is_refused(accept: str) -> None:
    """The page has no form that a program may rely on unless it says which."""
    answer = ask("/flagz", accept)

    assert 406 == answer.status
    assert (
        "only the following media types are accepted: application/json, application/yaml, text/plain" == answer.message
    )
