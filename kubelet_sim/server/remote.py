"""/exec and /attach: a command in a running container, or what the container itself writes and reads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from kubelet_sim import log
from kubelet_sim.commands import shell_at
from kubelet_sim.environment import environment
from kubelet_sim.server.cluster import Cluster
from kubelet_sim.server.consoles import Console
from kubelet_sim.server.container_world import world_of
from kubelet_sim.server.driving import Driver, Script
from kubelet_sim.server.exchange import Exchange, HungUp, Refused
from kubelet_sim.server.gathering import CHUNK_BYTES
from kubelet_sim.server.log_options import Options
from kubelet_sim.server.logs import ContainerLogs
from kubelet_sim.server.pods import Pods, SeenRun, container_of, running, running_ids, the_run, wait
from kubelet_sim.server.real_remote import real_attach, real_exec
from kubelet_sim.server.streams import SUBPROTOCOLS, RawStreams, Streams, exit_status, failure
from kubelet_sim.server.websocket import WebSocket
from kubelet_sim.shell.catalog import find_file, shell_in
from kubelet_sim.shell.world import World
from kubelet_sim.tokens import Tokens
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ObjectKey, key_of, uid_of
from kubeloop.client.api import Api
from kubeloop.runtime.http_request import Request

if TYPE_CHECKING:
    from kubelet_sim.process.live import LiveContainer
    from kubelet_sim.process.runtime import ProcessRuntime

# (pod, container, exit code): its first process is gone.
End = Callable[[ObjectKey, str, int], None]

KILLED = 137
# Simulated commands print at once. Who starts a debug container and attaches to it is to see that, too: kubectl debug
# reads no log before it attaches, as kubectl run does.
_FRESH = timedelta(minutes=1)
_SIGNALLED = 128


class Remote:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        pods: Pods,
        logs: ContainerLogs,
        cluster: Cluster,
        end: End,
        real: ProcessRuntime | None = None,
    ) -> None:
        self._api, self._clock, self._pods, self._logs = api, clock, pods, logs
        self._cluster, self._end, self._real = cluster, end, real
        self._tokens = Tokens(api, clock)
        self._consoles: dict[str, Console] = {}  # by the id of the run; one that is over goes when the next comes

    async def exec(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        pod, container, run = self._found(request, exchange, path)
        command = list(request.query.get("command") or ())
        if not command:
            raise Refused(400, "you must specify at least 1 command for the container")

        if (live := self._live(pod, container, run)) is not None:
            await self._over_streams(request, exchange, partial(real_exec, live, command), RawStreams)
            return

        async def carry_out(streams: Streams) -> Object:
            if find_file(command[0]) is None:
                return failure(_not_found(command[0]))
            world = await self._world(pod, container, run, has_terminal=streams.has_terminal)
            script, driver = Script(shell_in(world).call(command)), self._driver(pod, container)
            return exit_status(await self._while_it_runs(pod, container, run, driver.play(script, streams)))

        await self._over_streams(request, exchange, carry_out)

    async def attach(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        pod, container, run = self._found(request, exchange, path)
        if (live := self._live(pod, container, run)) is not None:
            await self._over_streams(request, exchange, partial(real_attach, live), RawStreams)
            return

        async def carry_out(streams: Streams) -> Object:
            console = await self._console(pod, container, run)
            if console is None:
                streams.drop_input()
                await self._show_log(pod, container, run, streams)
            else:
                await self._at_console(pod, container, run, console, streams)
            return exit_status(0)

        await self._over_streams(request, exchange, carry_out)

    def _found(self, request: Request, exchange: Exchange, path: tuple[str, ...]) -> tuple[Object, str, SeenRun]:
        if len(path) != 3:
            raise Refused(404, "404 page not found")
        pod = self._pods.asked(request, exchange, *path[:2])
        name = path[2]
        container_of(pod, name)
        run = running(pod, name)
        if run is None:
            raise Refused(404, f"container not found ({go_quote(name)})")
        return pod, name, run

    def _live(self, pod: Object, container: str, run: SeenRun) -> LiveContainer | None:
        """None of a simulated container. Refused where one that really ran has just ended."""
        if self._real is None or not self._real.runs(container_of(pod, container)):
            return None
        live = self._real.live(uid_of(pod), container, run.id)
        if live is None:
            raise Refused(404, f"container not found ({go_quote(container)})")
        return live

    async def _over_streams(
        self,
        request: Request,
        exchange: Exchange,
        carry_out: Callable[[Any], Awaitable[Object]],
        kind: type[Streams] = Streams,
    ) -> None:
        socket = await WebSocket.accept(request, exchange, SUBPROTOCOLS)
        streams = kind(socket, request)
        try:
            async with asyncio.TaskGroup() as tasks:
                await streams.begin()
                reading = tasks.create_task(streams.run())
                await streams.end(await carry_out(streams))
                reading.cancel()
        except* (HungUp, OSError):
            pass

    # --- what the container itself writes and reads

    async def _show_log(self, pod: Object, container: str, run: SeenRun, streams: Streams) -> None:
        now = self._clock.now()
        is_debugging = any(one["name"] == container for one in pod["spec"].get("ephemeralContainers") or ())
        is_fresh = now - run.started_at < _FRESH
        options = Options(follows=True, since=run.started_at if is_debugging and is_fresh else now)
        held, size, stream = list[str](), 0, log.STDOUT
        async for line in self._logs.lines(pod, container, run, options):
            if held and (line.stream != stream or size >= CHUNK_BYTES):
                await streams.write(stream, "".join(held))
                held, size = [], 0
            if line.stream != log.SILENCE:
                held.append(line.text + "\n")
                size, stream = size + len(line.text), line.stream
        await streams.write(stream, "".join(held))

    async def _console(self, pod: Object, container: str, run: SeenRun) -> Console | None:
        """None where the container runs no shell that somebody could type to."""
        spec = container_of(pod, container)
        command = shell_at(spec, environment(pod, spec))
        if command is None:
            return None
        if run.id not in self._consoles:
            world = await self._world(pod, container, run, has_terminal=bool(spec.get("tty")))
            world.process = command
            alive = {id for other in self._pods.list() for id in running_ids(other)}
            self._consoles = {id: console for id, console in self._consoles.items() if id in alive}
            self._consoles.setdefault(run.id, Console(world, command, bool(spec.get("stdinOnce"))))
        return self._consoles[run.id]

    async def _at_console(self, pod: Object, container: str, run: SeenRun, console: Console, streams: Streams) -> None:
        """Until the container has ended, be it because its shell has."""
        try:
            await self._while_it_runs(pod, container, run, console.attach(streams, self._driver(pod, container)))
        except asyncio.CancelledError:
            if console.is_once and streams.has_stdin:
                self._end_console(key_of(pod), container, run, console.hang_up())
            raise
        if console.exit_code is not None:
            self._end_console(key_of(pod), container, run, console.exit_code)
        await self._until_over(pod, container, run)

    def _end_console(self, key: ObjectKey, container: str, run: SeenRun, exit_code: int) -> None:
        """Once, however many were attached: the container may have been started anew since."""
        if self._consoles.pop(run.id, None) is not None:
            self._end(key, container, exit_code)

    # --- scripts

    async def _world(self, pod: Object, container: str, run: SeenRun, has_terminal: bool) -> World:
        world = await world_of(self._api, self._clock, self._tokens, pod, container_of(pod, container), run)
        world.has_terminal = has_terminal
        return world

    def _driver(self, pod: Object, container: str) -> Driver:
        key = key_of(pod)

        def kill(signal: int) -> None:
            self._end(key, container, _SIGNALLED + signal)

        return Driver(self._cluster, key.namespace, kill)

    async def _while_it_runs(self, pod: Object, container: str, run: SeenRun, script: Coroutine[Any, Any, int]) -> int:
        """The exit code; that of a killed process where the container ends before the script."""
        playing, ending = asyncio.create_task(script), asyncio.create_task(self._until_over(pod, container, run))
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


def _not_found(program: str) -> str:
    """As containerd and runc say it."""
    start = "error executing command in container: failed to exec in container: failed to start exec: "
    why = f"stat {program}: no such file or directory" if "/" in program else "executable file not found in $PATH"
    note = " (simulated containers have no tar, so kubectl cp cannot be used)" if program == "tar" else ""
    return (
        f"{start}OCI runtime exec failed: exec failed: unable to start container process: "
        f'exec: "{program}": {why}: unknown{note}'
    )
