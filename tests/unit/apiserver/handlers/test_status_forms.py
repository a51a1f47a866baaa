"""In which form a client is told that something went wrong, or was done."""

from __future__ import annotations

import pytest
import yaml

from tests.testkit.exchange import Ask, exchange

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("application/yaml", "application/yaml"),
        ("application/json;q=0.1,application/yaml", "application/yaml"),
        (f"{TABLE},application/yaml", "application/yaml"),
        (TABLE, "application/json"),
        ("application/json,application/yaml", "application/json"),
    ],
)
def test_a_refusal_comes_in_yaml_where_that_is_accepted(accept: str, media_type: str) -> None:
    """A Table of a refusal there is none, so that is told in JSON."""
    answer = exchange(Ask("GET", f"{CONFIG_MAPS}/a", more={"accept": accept}))[0]

    assert (404, media_type) == (answer.status, answer.headers["content-type"])
    assert 'configmaps "a" not found' == yaml.safe_load(answer.text)["message"]


def test_so_does_the_news_of_a_deletion() -> None:
    """Its Status is written as objects are."""
    made = Ask("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    answer = exchange(made, Ask("DELETE", f"{CONFIG_MAPS}/a", more={"accept": "application/yaml"}))[1]

    assert (200, "application/yaml") == (answer.status, answer.headers["content-type"])
    assert "Success" == yaml.safe_load(answer.text)["status"]
