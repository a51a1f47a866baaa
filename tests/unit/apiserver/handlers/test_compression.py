"""Large answers to clients on other machines."""

from __future__ import annotations

import gzip

import pytest

from tests.testkit.asking import Answer, Asking, on_a_server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def listed(size: int, encoding: str, host: str) -> Answer:
    async def scenario(ask: Asking) -> Answer:
        await ask(f"POST {CONFIG_MAPS}", {"metadata": {"name": "a"}, "data": {"k": "x" * size}})
        ask.client = (host, 1)
        return await ask(f"GET {CONFIG_MAPS}", accept_encoding=encoding)

    return on_a_server(scenario)


@pytest.mark.parametrize(
    ("size", "encoding", "host", "is_compressed"),
    [
        (200_000, "gzip", "10.0.0.1", True),
        (200_000, "br, gzip", "10.0.0.1", True),
        (200_000, "deflate", "10.0.0.1", False),
        (200_000, "", "10.0.0.1", False),
        (100, "gzip", "10.0.0.1", False),
        (200_000, "gzip", "127.0.0.1", False),
        (200_000, "gzip", "::1", False),
    ],
)
def test_who_gets_a_compressed_answer(size: int, encoding: str, host: str, is_compressed: bool) -> None:
    """Who accepts it, is elsewhere, and asked for much."""
    answer = listed(size, encoding, host)

    assert is_compressed is (answer.headers.get("content-encoding") == "gzip")
    assert int(answer.headers["content-length"]) == len(answer.body)
    body = gzip.decompress(answer.body) if is_compressed else answer.body
    assert body.startswith(b'{"kind":"ConfigMapList"')
    assert is_compressed is (answer.headers.get("vary") == "Accept-Encoding")


def test_answers_are_not_kept() -> None:
    """Browsers and proxies are told so."""
    assert "no-cache, private" == listed(1, "", "127.0.0.1").headers["cache-control"]
