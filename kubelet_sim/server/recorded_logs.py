"""/containerLogs of a container that really runs: what its process has written, from its files, and on as it writes."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from kubelet_sim.server.gathering import NOTHING_NOW
from kubelet_sim.server.log_options import Options
from kubelet_sim.server.pods import wait
from kubeloop.apimachinery.clock import Clock

if TYPE_CHECKING:
    from kubelet_sim.process.run_log import Entry, RunLog

_ENTRIES_AT_ONCE = 500  # then others get a turn


async def recorded(log: RunLog, options: Options, clock: Clock) -> AsyncIterator[bytes]:
    """In pieces, until the end of the run, or until now where nobody follows. NOTHING_NOW before it waits."""
    left = options.limit_bytes
    async for data in _shown(log, options, clock):
        if left is not None:
            data = data[:left]
            left -= len(data)
        yield data
        if left == 0:
            return


async def _shown(log: RunLog, options: Options, clock: Clock) -> AsyncIterator[bytes]:
    goes_on: set[int] = set()  # streams whose line has begun: only its beginning has a time
    async for entry in _wanted(log, options, clock):
        if entry is None:
            yield NOTHING_NOW
            continue
        has_time = options.has_timestamps and entry.stream not in goes_on
        yield entry.time + b" " + entry.text if has_time else entry.text
        if entry.text.endswith(b"\n"):
            goes_on.discard(entry.stream)
        else:
            goes_on.add(entry.stream)


async def _wanted(log: RunLog, options: Options, clock: Clock) -> AsyncIterator[Entry | None]:
    """None where there is no more for now."""
    from kubelet_sim.process.run_log import stamp  # whoever gets here has loaded it

    since = stamp(options.since) if options.since is not None else b""
    entries = log.entries(options.tail_lines if options.streams == Options().streams else None)
    past = deque["Entry"](maxlen=options.tail_lines)
    count, is_past = 0, True
    with log.changes() as changed:
        for entry in entries:
            if entry is not None and entry.stream in options.streams and entry.time >= since:
                if is_past and options.tail_lines is not None:
                    past.append(entry)
                else:
                    yield entry
            if entry is None:
                for one in past:
                    yield one
                past.clear()
                is_past = False
                if not options.follows or not log.is_being_written:
                    return
                yield None
                await wait(changed, None)
            count += 1
            if count % _ENTRIES_AT_ONCE == 0:
                await clock.sleep(0)
