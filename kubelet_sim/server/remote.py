"""/exec and /attach: a command in a running container, or what the container itself writes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

from kubelet_sim.server.cluster import Cluster
from kubelet_sim.server.container_world import world_of
from kubelet_sim.server.exchange import Exchange, HungUp, Refused
from kubelet_sim.server.logs import ContainerLogs, Options
from kubelet_sim.server.pods import Pods, SeenRun, container_of, running, the_run, wait
from kubelet_sim.server.streams import SUBPROTOCOLS, Streams, exit_status, failure
from kubelet_sim.server.websocket import WebSocket
from kubelet_sim.shell.catalog import find_file, shell_in
from kubelet_sim.shell.effects import Ask, Interrupted, Kill, ReadLine, Running, Sleep, Write
from kubelet_sim.shell.interpreter import Exit
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ObjectKey, key_of
from kubeloop.client.api import Api
from kubeloop.runtime.http_request import Request

# (pod, container, exit code): its first process is gone.
End = Callable[[ObjectKey, str, int], None]

KILLED, INTERRUPTED = 137, 130
_SIGNALLED = 128


class Remote:
    def __init__(self, api: Api, clock: Clock, pods: Pods, logs: ContainerLogs, cluster: Cluster, end: End) -> None:
        self._api, self._clock, self._pods, self._logs = api, clock, pods, logs
        self._cluster, self._end = cluster, end

    async def exec(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        pod, container, run = self._found(path)
        command = list(request.query.get("command") or ())
        if not command:
            raise Refused(400, "you must specify at least 1 command for the container")

        async def carry_out(streams: Streams) -> Object:
            if find_file(command[0]) is None:
                return failure(_not_found(command[0]))
            return exit_status(await self._run(pod, container, run, command, streams))

        await self._over_streams(request, exchange, carry_out)

    async def attach(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        pod, container, run = self._found(path)

        async def carry_out(streams: Streams) -> Object:
            options = Options(follows=True, since=self._clock.now())
            async for line in self._logs.lines(pod, container, run, options):
                await streams.write(line.stream, line.text + "\n")
            return exit_status(0)

        await self._over_streams(request, exchange, carry_out)

    def _found(self, path: tuple[str, ...]) -> tuple[Object, str, SeenRun]:
        if len(path) != 3:
            raise Refused(404, "404 page not found")
        pod = self._pods.get(*path[:2])
        name = path[2]
        container_of(pod, name)
        run = running(pod, name)
        if run is None:
            raise Refused(404, f"container not found ({go_quote(name)})")
        return pod, name, run

    async def _over_streams(self, request: Request, exchange: Exchange, carry_out: Callable[[Streams], Any]) -> None:
        socket = await WebSocket.accept(request, exchange, SUBPROTOCOLS)
        streams = Streams(socket, request)
        try:
            async with asyncio.TaskGroup() as tasks:
                await streams.begin()
                reading = tasks.create_task(streams.run())
                await streams.end(await carry_out(streams))
                reading.cancel()
        except* (HungUp, OSError):
            pass

    async def _run(self, pod: Object, container: str, run: SeenRun, command: Sequence[str], streams: Streams) -> int:
        """The exit code; that of a killed process where the container ends before the command."""
        world = await world_of(self._api, self._clock, pod, container_of(pod, container), run)
        world.has_terminal = streams.has_terminal
        key = key_of(pod)

        def kill(signal: int) -> None:
            self._end(key, container, _SIGNALLED + signal)

        playing = asyncio.create_task(self._play(shell_in(world).call(command), key.namespace, streams, kill))
        ending = asyncio.create_task(self._until_over(pod, container, run))
        try:
            await asyncio.wait((playing, ending), return_when=asyncio.FIRST_COMPLETED)
            return playing.result() if playing.done() else KILLED
        finally:
            for task in (playing, ending):
                task.cancel()
            await asyncio.gather(playing, ending, return_exceptions=True)

    async def _until_over(self, pod: Object, container: str, run: SeenRun) -> None:
        with self._pods.changes(pod) as changed:
            while True:
                current = self._pods.again(pod)
                seen = the_run(current, container, run.id) if current is not None else None
                if seen is None or seen.finished_at is not None:
                    return
                await wait(changed, None)

    async def _play(self, script: Running, namespace: str, streams: Streams, kill: Callable[[int], None]) -> int:
        """In real time."""
        answer: Any = None
        try:
            while True:
                if streams.interrupted.is_set():
                    streams.interrupted.clear()
                    effect = script.throw(Interrupted())
                else:
                    effect = script.send(answer)
                answer = None
                match effect:
                    case Write(stream, text):
                        await streams.write(stream, text)
                    case Sleep(seconds):
                        await self._pause(seconds, streams)
                    case ReadLine():
                        answer = await self._read(streams)
                    case Ask():
                        answer = await self._cluster.answer(effect, namespace)
                    case Kill(signal):
                        kill(signal)
        except StopIteration as end:
            return int(end.value)
        except Exit as end:
            return end.code
        except Interrupted:
            return INTERRUPTED

    async def _pause(self, seconds: float, streams: Streams) -> None:
        """Until it is over, or somebody presses Ctrl-C."""
        try:
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                await streams.interrupted.wait()
        except TimeoutError:
            pass

    async def _read(self, streams: Streams) -> str:
        reading = asyncio.create_task(streams.read_line())
        interrupted = asyncio.create_task(streams.interrupted.wait())
        try:
            await asyncio.wait((reading, interrupted), return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else ""
        finally:
            reading.cancel()
            interrupted.cancel()


def _not_found(program: str) -> str:
    """As containerd and runc say it."""
    start = "error executing command in container: failed to exec in container: failed to start exec: "
    return f'{start}OCI runtime exec failed: exec failed: unable to start container process: exec: "{program}": ' + (
        f"stat {program}: no such file or directory: unknown"
        if "/" in program
        else "executable file not found in $PATH: unknown"
    )
