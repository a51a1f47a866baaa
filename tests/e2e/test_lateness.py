"""`--late-answers` and `--late-watches` of a real server, over real sockets."""

from __future__ import annotations

import json
import random
import time

import httpx
import pytest

from tests.testkit.stack import api_server_alone, is_ready

pytestmark = pytest.mark.e2e

MAPS = "/api/v1/namespaces/default/configmaps"
TIMERS_SECONDS = 0.01  # so much too early a timer may fire


def test_answers_and_events_are_late_by_what_the_seed_draws() -> None:
    """Never earlier, and events in the order of the writes."""
    rng = random.Random(7)
    listing, opening, *writing_and_telling = [rng.uniform(0, 0.8) for _ in range(8)]
    late = ("--late-answers=800ms", "--late-watches=0.8s", "--late-seed=7")
    seconds, told = [], []

    with api_server_alone(*late) as server, httpx.Client(base_url=server, timeout=30) as client:
        began = time.monotonic()
        revision = client.get(MAPS).json()["metadata"]["resourceVersion"]
        seconds.append(time.monotonic() - began)
        began = time.monotonic()
        with client.stream("GET", f"{MAPS}?watch=1&resourceVersion={revision}") as watch:
            seconds.append(time.monotonic() - began)
            lines = watch.iter_lines()
            for name in ("c", "a", "b"):
                began = time.monotonic()
                client.post(MAPS, json={"metadata": {"name": name}})
                told.append(json.loads(next(lines))["object"]["metadata"]["name"])
                seconds.append(time.monotonic() - began)

    drawn = [listing, opening, *map(sum, zip(writing_and_telling[::2], writing_and_telling[1::2], strict=True))]
    assert ["c", "a", "b"] == told
    assert [] == [(took, least) for took, least in zip(seconds, drawn, strict=True) if took < least - TIMERS_SECONDS]


def test_a_very_late_server_says_that_it_lives_and_stops() -> None:
    """Health is told, requests wait, and a stop does not wait for them."""
    with api_server_alone("--late-answers=1000h", "--late-seed=1") as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{server}{MAPS}", timeout=0.5)

        assert is_ready(server)
