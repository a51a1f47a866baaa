"""The main function that every loop process shares.

A process parses its flags (flags.py), then hands over what it is made of:

    arguments = flags.parser("kube-controller-manager").parse_args()
    sys.exit(process.run("kube-controller-manager", arguments, add_controllers))

SIGTERM and SIGINT end it gracefully with exit code 0; anything that breaks ends it with 1 and a log line that says why.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import socket
from collections.abc import Callable
from dataclasses import replace

import structlog

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, Forbidden, Unauthorized
from kubeloop.apimachinery.names import new_uid
from kubeloop.client.api import Api
from kubeloop.client.kubeconfig import KubeconfigError, connect
from kubeloop.client.warning_log import WarningLog
from kubeloop.clock import SystemClock
from kubeloop.garbage import collect_less_often
from kubeloop.logs import configure_logging
from kubeloop.runtime.leader_election import ElectionTimes, LeaderElector, LeadershipLost
from kubeloop.runtime.manager import STOP_SECONDS, Manager, ManagerOptions
from kubeloop.runtime.serving import Check, Checks, HealthChecks, HealthServer

log = structlog.get_logger(__name__)

Populate = Callable[[Manager], None]

_FIRST_WAIT_SECONDS = 0.05
_MAX_WAIT_SECONDS = 2.0


def run(
    component: str,
    arguments: argparse.Namespace,
    populate: Populate,
    user_agent: str = "",
    stop_seconds: float = STOP_SECONDS,
    *,
    managed_fields: bool = True,
) -> int:
    """The exit code. `populate` adds controllers to the manager; it runs before anything is read.

    `user_agent` is who writes as the API server sees it, and so who owns fields; by default the component.
    `stop_seconds` and `managed_fields` are those of ManagerOptions.
    """
    configure_logging(arguments.logging_format, arguments.verbosity)
    collect_less_often()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            options = ManagerOptions(stop_seconds=stop_seconds, managed_fields=managed_fields)
            runner.run(_run(component, arguments, populate, user_agent or component, options))
    except (KubeconfigError, ValueError, OSError) as error:
        log.error("cannot start", component=component, error=str(error))
        return 1
    except BaseExceptionGroup as group:
        if group.split(LeadershipLost)[1] is None:
            log.error("leader election lost", component=component)
        else:
            log.error("stopped by an error", component=component, exc_info=group)
        return 1
    return 0


async def _run(
    component: str, arguments: argparse.Namespace, populate: Populate, user_agent: str, options: ManagerOptions
) -> None:
    clock, rng = SystemClock(), random.Random()
    api = connect(
        arguments.kubeconfig,
        arguments.master,
        arguments.token,
        token_file=arguments.token_file,
        user_agent=user_agent,
        clock=clock,
        on_warning=WarningLog(),
    )
    async with api:
        metrics = None
        if arguments.secure_port:
            from prometheus_client import CollectorRegistry, disable_created_metrics  # 25 ms, for those who are scraped

            from kubeloop.runtime.metrics import RuntimeMetrics

            disable_created_metrics()  # Go's clients have no such series
            metrics = RuntimeMetrics(CollectorRegistry())
        manager = Manager(api, clock, rng, replace(options, metrics=metrics))
        elector = _elector(component, arguments, manager) if arguments.leader_elect else None
        populate(manager)

        async def work() -> None:
            await wait_for_server(api, clock)
            await (elector.run(manager.run) if elector else manager.run())

        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(work(), name="work")
            _on_signals(lambda: manager.stop() if manager.is_running else working.cancel())
            if metrics is not None:
                checks = HealthChecks(manager.healthz_checks, readyz_checks(manager, elector))
                server = HealthServer(arguments.bind_address, arguments.secure_port, checks, metrics.registry)
                serving = tasks.create_task(server.run(), name="health")
                working.add_done_callback(lambda _: serving.cancel())


def readyz_checks(manager: Manager, elector: LeaderElector | None) -> Checks:
    """Informers that know the world, then the manager's own; who stands by has nothing to be asked about."""

    def is_standing_by() -> bool:
        return elector is not None and elector.is_standing_by

    def fails_unless_standing_by(fails: Check) -> Check:
        return lambda: "" if is_standing_by() else fails()

    def informers_fail() -> str:
        return "" if manager.is_ready else "informers have not synced"

    return {
        "informer-sync": fails_unless_standing_by(informers_fail),
        **{name: fails_unless_standing_by(fails) for name, fails in manager.readyz_checks.items()},
    }


async def wait_for_server(api: Api, clock: Clock) -> None:
    """Until the API server is ready. Refused credentials count as ready: waiting would not make them good."""
    wait_seconds = _FIRST_WAIT_SECONDS
    while True:
        try:
            await api.request("GET", "/readyz")
            return
        except (Unauthorized, Forbidden):
            return
        except ApiError as error:
            if wait_seconds >= _MAX_WAIT_SECONDS:
                log.info("waiting for the API server", server=api.base_url, error=error.message)
        await clock.sleep(wait_seconds)
        wait_seconds = min(wait_seconds * 1.5, _MAX_WAIT_SECONDS)


def _elector(component: str, arguments: argparse.Namespace, manager: Manager) -> LeaderElector:
    times = ElectionTimes(
        arguments.leader_elect_lease_duration,
        arguments.leader_elect_renew_deadline,
        arguments.leader_elect_retry_period,
    )
    return LeaderElector(
        manager.api,
        manager.clock,
        manager.rng,
        arguments.leader_elect_resource_name,
        f"{socket.gethostname()}_{new_uid(manager.rng)}",
        namespace=arguments.leader_elect_resource_namespace,
        times=times,
        recorder=manager.event_recorder(component),
        metrics=manager.options.metrics,
    )


def _on_signals(stop: Callable[[], object]) -> None:
    """The first asks for a graceful end, a second one ends the process at once, as upstream's."""
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            loop.add_signal_handler(number, os._exit, 1)
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
