"""What makes a loop process ready."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace
from typing import Any

from kubeloop.client.api import Api
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.process import readyz_checks
from kubeloop.testing.virtual_time import LoopClock, run
from tests.testkit.scripted import Script


def test_who_leads_is_ready_when_its_informers_and_checks_are() -> None:
    """And who stands by is ready without them: it has nothing to do yet."""
    leading: Any = SimpleNamespace(is_standing_by=False)
    standing_by: Any = SimpleNamespace(is_standing_by=True)

    async def main() -> list[dict[str, str]]:
        manager = Manager(Api("http://x", Script([])), LoopClock(), random.Random(1))
        manager.add_readyz_check("database", lambda: "no connection")
        found = []

        def look(elector: Any) -> None:
            found.append({name: fails() for name, fails in readyz_checks(manager, elector).items()})

        look(leading)
        look(standing_by)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(1)
        look(leading)
        look(None)
        manager.stop()
        await running
        return found

    starting, standby, *running = run(main())

    assert {"informer-sync": "informers have not synced", "database": "no connection"} == starting
    assert {"informer-sync": "", "database": ""} == standby
    assert [{"informer-sync": "", "database": "no connection"}] * 2 == running
