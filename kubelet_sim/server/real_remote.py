"""/exec and /attach of a container that really runs: its streams are joined to those of a process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubelet_sim.server.streams import RawStreams, exit_status, failure
from kubelet_sim.shell.effects import STDERR, STDOUT
from kubeloop.apimachinery.meta import Object

if TYPE_CHECKING:
    from kubelet_sim.process.live import LiveContainer
    from kubelet_sim.process.processes import Process

_LAST_OUTPUT_SECONDS = 1.0


async def real_exec(live: LiveContainer, command: Sequence[str], streams: RawStreams) -> Object:
    """Until the command ends. Whoever asked for it going away ends it, too."""
    from kubelet_sim.process import words  # whoever gets here has loaded it
    from kubelet_sim.process.processes import CannotStart

    try:
        process = await live.start(command, has_stdin=streams.has_stdin, has_terminal=streams.has_terminal)
    except CannotStart as error:
        return failure(words.exec_failed(str(error)))
    try:
        streams.on_resize(process.resize)
        return exit_status(await _joined(process, streams))
    finally:
        live.end(process)
        process.close()


async def _joined(process: Process, streams: RawStreams) -> int:
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(_feed(process, streams))
        reading = [tasks.create_task(_show(process, stream, streams)) for stream in (STDOUT, STDERR)]
        code = await process.wait()
        writing.cancel()
        await asyncio.wait(reading, timeout=_LAST_OUTPUT_SECONDS)
        process.close()
    return code


async def _feed(process: Process, streams: RawStreams) -> None:
    while piece := await streams.read_raw():
        await process.write(piece)
    await process.close_stdin()


async def _show(process: Process, stream: int, streams: RawStreams) -> None:
    while data := await process.read(stream):
        await streams.write_raw(stream, data)


async def real_attach(live: LiveContainer, streams: RawStreams) -> Object:
    """What the container's own process writes from now on, and what it is told, until it ends."""
    streams.on_resize(live.resize)
    with live.watch() as watching:
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(_tell(live, streams))
            while not live.over.is_set() and (piece := await watching.get()) is not None:
                await streams.write_raw(*piece)
            writing.cancel()
    return exit_status(0)


async def _tell(live: LiveContainer, streams: RawStreams) -> None:
    while piece := await streams.read_raw():
        await live.write(piece)
    await live.close_stdin()
