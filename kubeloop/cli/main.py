"""The installed command `kubeloop`: one function a command, which reads its flags and calls the part that does it."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from kubeloop.apimachinery.releases import DEFAULT, RELEASES
from kubeloop.apimachinery.stage_sets import CLUSTER, SETS
from kubeloop.cli.display import Display
from kubeloop.cli.options import DEFAULT_DATA_DIR, SIMULATED, UpOptions, UsageError
from kubeloop.cli.supervisor import StartFailed
from kubeloop.cli.target import Target
from kubeloop.client.kubeconfig import KubeconfigError

# What the user can mend: one line and exit code 1. An OSError is a file or a disk that refuses.
EXPECTED = (UsageError, StartFailed, KubeconfigError, OSError)

_NAMES = ("data_dir", "kubeconfig")

app = typer.Typer(
    help="A Kubernetes control plane you can read, run, break and test with.",
    add_completion=False,
    pretty_exceptions_enable=False,
)

SchedulerArgs = Annotated[
    list[str] | None, typer.Option(envvar="KUBELOOP_SCHEDULER_ARG", help="--flag=value for the scheduler; repeat")
]
# How every command but `up` is told which stack or cluster it is about (target.py).
Kubeconfig = Annotated[
    Path | None, typer.Option("--kubeconfig", envvar="KUBELOOP_KUBECONFIG", help="whose current context is meant")
]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", envvar="KUBELOOP_DATA_DIR", help="where the state of the stack is")
]


@app.command()
def up(
    port: Annotated[int, typer.Option(envvar="KUBELOOP_PORT", help="port of the API server, on loopback")] = 8001,
    data_dir: Annotated[
        Path, typer.Option(envvar="KUBELOOP_DATA_DIR", help="where the stack's state is")
    ] = DEFAULT_DATA_DIR,
    nodes: Annotated[int, typer.Option(envvar="KUBELOOP_NODES", help="how many simulated nodes")] = 3,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(envvar="KUBELOOP_KUBECONFIG", help="file for the context `kubeloop` [default: as kubectl]"),
    ] = None,
    node_cpu: Annotated[str, typer.Option(envvar="KUBELOOP_NODE_CPU", help="CPUs of a node")] = "4",
    node_memory: Annotated[str, typer.Option(envvar="KUBELOOP_NODE_MEMORY", help="memory of a node")] = "8Gi",
    node_pods: Annotated[int, typer.Option(envvar="KUBELOOP_NODE_PODS", help="pods a node can take")] = 110,
    node_ephemeral_storage: Annotated[
        str, typer.Option(envvar="KUBELOOP_NODE_EPHEMERAL_STORAGE", help="local storage of a node")
    ] = "100Gi",
    apiserver_arg: Annotated[
        list[str] | None, typer.Option(envvar="KUBELOOP_APISERVER_ARG", help="--flag=value for the API server; repeat")
    ] = None,
    scheduler_arg: SchedulerArgs = None,
    secure: Annotated[bool, typer.Option("--secure", envvar="KUBELOOP_SECURE", help="TLS, certificates, RBAC")] = False,
    default_storage_class: Annotated[
        bool,
        typer.Option(
            "--default-storage-class",
            envvar="KUBELOOP_DEFAULT_STORAGE_CLASS",
            help="give claims without a class simulated volumes",
        ),
    ] = False,
    controllers_arg: Annotated[
        list[str] | None,
        typer.Option(envvar="KUBELOOP_CONTROLLERS_ARG", help="--flag=value for the control loops; repeat"),
    ] = None,
    kubelet_arg: Annotated[
        list[str] | None, typer.Option(envvar="KUBELOOP_KUBELET_ARG", help="--flag=value for the nodes; repeat")
    ] = None,
    metrics_server: Annotated[
        bool,
        typer.Option("--metrics-server", envvar="KUBELOOP_METRICS_SERVER", help="what kubectl top and autoscalers ask"),
    ] = False,
    metric_resolution: Annotated[
        str, typer.Option(envvar="KUBELOOP_METRIC_RESOLUTION", help="how often it looks at usage")
    ] = "15s",
    stages: Annotated[
        list[str] | None,
        typer.Option(
            envvar="KUBELOOP_STAGES", help=f"lives as stages (kwok's): {', '.join(SETS)}, {CLUSTER} or a file; repeat"
        ),
    ] = None,
    faults: Annotated[
        bool, typer.Option("--faults", envvar="KUBELOOP_FAULTS", help="failures of nodes and pods as objects (Fault)")
    ] = False,
    runtime: Annotated[
        str,
        typer.Option(
            envvar="KUBELOOP_RUNTIME", help="`process` runs the commands of containers as processes of this user"
        ),
    ] = SIMULATED,
    kubernetes_version: Annotated[
        str, typer.Option(envvar="KUBELOOP_KUBERNETES_VERSION", help=f"whose kinds and fields: {', '.join(RELEASES)}")
    ] = DEFAULT,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="return when the stack is ready")] = False,
) -> None:
    """Start the whole stack: API server, control loops, scheduler and nodes, each a process."""
    from kubeloop.cli.detached import up_detached
    from kubeloop.cli.up import up as run_up

    options = UpOptions(
        port=port,
        data_dir=data_dir,
        nodes=nodes,
        kubeconfig=kubeconfig,
        node_cpu=node_cpu,
        node_memory=node_memory,
        node_pods=node_pods,
        node_ephemeral_storage=node_ephemeral_storage,
        apiserver_args=tuple(apiserver_arg or ()),
        scheduler_args=tuple(scheduler_arg or ()),
        controllers_args=tuple(controllers_arg or ()),
        kubelet_args=tuple(kubelet_arg or ()),
        metrics_server=metrics_server,
        metric_resolution=metric_resolution,
        faults=faults,
        runtime=runtime,
        stages=tuple(stages or ()),
        detach=detach,
        secure=secure,
        kubernetes_version=kubernetes_version,
        default_storage_class=default_storage_class,
    )
    start = up_detached if detach else run_up
    asyncio.run(start(options, Display()))


@app.command()
def down(context: typer.Context, data_dir: DataDir = None, kubeconfig: Kubeconfig = None) -> None:
    """Stop the stack; its state is kept."""
    from kubeloop.cli.down import down as run_down

    display, directory = Display(), _target(context, data_dir, kubeconfig).directory()
    if asyncio.run(run_down(directory, display.note)):
        display.stopped()
    else:
        display.step(f"no stack runs on {directory}")


@app.command()
def status(
    context: typer.Context,
    data_dir: DataDir = None,
    kubeconfig: Kubeconfig = None,
    output: Annotated[str, typer.Option("-o", "--output", help="json, or a table without it")] = "",
) -> None:
    """Show what runs."""
    from kubeloop.cli.down import status as read_status

    if output not in ("", "json"):
        raise UsageError(f"--output={output}: only json is known")
    shown = read_status(_target(context, data_dir, kubeconfig).directory())
    if output == "json":
        print(json.dumps(shown, indent=2))
    else:
        Display().status(shown)


@app.command()
def scale(
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="nodes")],
    number: Annotated[int, typer.Argument(help="how many there are to be")],
    data_dir: DataDir = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Change how many simulated nodes there are, and wait for them."""
    from kubeloop.cli.scale import scale_nodes
    from kubeloop.clock import SystemClock

    if what != "nodes":
        raise UsageError(f"{what!r} cannot be scaled here: write `kubeloop scale nodes {number}`")
    cluster = _target(context, data_dir, kubeconfig).cluster()
    asyncio.run(scale_nodes(number, cluster, SystemClock(), random.Random(), Display().step))


@app.command()
def stages(name: Annotated[str, typer.Argument(help="a set; without it they are listed")] = "") -> int:
    """Print a built-in set of stages, to start one's own from."""
    from kubeloop.cli.stage_sets import show

    return show(name)


@app.command()
def why(
    context: typer.Context,
    pod: Annotated[str, typer.Argument(help="pod/NAME")],
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="[default: that of the context]")] = "",
    output: Annotated[str, typer.Option("-o", "--output", help="text or json")] = "text",
    data_dir: DataDir = None,
    kubeconfig: Kubeconfig = None,
    scheduler_arg: SchedulerArgs = None,
) -> int:
    """Explain where the scheduler would put a pod: who refuses it, who wins, and what would let it fit."""
    from kubeloop.cli.why import why as run_why

    cluster = _target(context, data_dir, kubeconfig).cluster()
    return run_why(pod, namespace, output, cluster, scheduler_arg or [])


@app.command()
def demo() -> None:
    """Watch the control loops converge on a throw-away stack; exit code 0 if everything did."""
    from kubeloop.cli.demo.tour import NotConverged
    from kubeloop.cli.demo.tour import demo as run_demo

    try:
        asyncio.run(run_demo())
    except NotConverged as failure:
        raise StartFailed(str(failure)) from failure


def _target(context: typer.Context, data_dir: Path | None, kubeconfig: Path | None) -> Target:
    """A flag wins over the environment, also where that says it by the other one."""
    flags = [
        source is not None and source.name == "COMMANDLINE" for source in map(context.get_parameter_source, _NAMES)
    ]
    if flags == [True, False]:
        return Target(data_dir)
    if flags == [False, True]:
        return Target(kubeconfig=kubeconfig)
    return Target(data_dir, kubeconfig)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Without a command it shows what there is."""
    chosen = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return int(app(chosen or ["--help"], prog_name="kubeloop", standalone_mode=False) or 0)
    except TyperException as error:
        return _failed(error.format_message())
    except EXPECTED as error:
        return _failed(_text(error))
    except BaseExceptionGroup as group:
        expected = group.subgroup(EXPECTED)
        if expected is None:
            raise
        return _failed(_text(_first(expected)))
    except (KeyboardInterrupt, Abort):
        return 130


def run() -> None:
    """The entry point of the installed command."""
    sys.exit(main())


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _text(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _failed(text: str) -> int:
    print("error: " + " ".join(text.split()), file=sys.stderr)
    return 1
