"""The installed command `kubeloop`: one function a command, which reads its flags and calls the part that does it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from kubeloop.cli.display import Display
from kubeloop.cli.options import UpOptions, UsageError
from kubeloop.cli.supervisor import StartFailed

app = typer.Typer(
    help="A Kubernetes control plane you can read, run, break and test with.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DataDir = Annotated[Path, typer.Option("--data-dir", envvar="KUBELOOP_DATA_DIR", help="where the stack's state is")]


@app.command()
def up(
    port: Annotated[int, typer.Option(envvar="KUBELOOP_PORT", help="port of the API server, on loopback")] = 8001,
    data_dir: DataDir = Path(".kubeloop"),
    nodes: Annotated[int, typer.Option(envvar="KUBELOOP_NODES", help="how many simulated nodes")] = 3,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(envvar="KUBELOOP_KUBECONFIG", help="file for the context `kubeloop` [default: as kubectl]"),
    ] = None,
    node_cpu: Annotated[str, typer.Option(envvar="KUBELOOP_NODE_CPU", help="CPUs of a node")] = "4",
    node_memory: Annotated[str, typer.Option(envvar="KUBELOOP_NODE_MEMORY", help="memory of a node")] = "8Gi",
    node_pods: Annotated[int, typer.Option(envvar="KUBELOOP_NODE_PODS", help="pods a node can take")] = 110,
    apiserver_arg: Annotated[
        list[str] | None, typer.Option(envvar="KUBELOOP_APISERVER_ARG", help="--flag=value for the API server; repeat")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="return when the stack is ready")] = False,
) -> None:
    """Start the whole stack: API server, control loops, scheduler and nodes, each a process."""
    from kubeloop.cli.up import up as run_up
    from kubeloop.cli.up import up_detached

    options = UpOptions(
        port, data_dir, nodes, kubeconfig, node_cpu, node_memory, node_pods, tuple(apiserver_arg or ()), detach
    )
    if detach:
        arguments = [argument for argument in sys.argv[2:] if argument not in ("--detach", "-d")]
        _run(up_detached(options, Display(), arguments))
    else:
        _run(run_up(options, Display()))


@app.command()
def down(data_dir: DataDir = Path(".kubeloop")) -> None:
    """Stop the stack; its state is kept."""
    from kubeloop.cli.down import down as run_down

    display = Display()
    if _run(run_down(data_dir, display.note)):
        display.stopped()
    else:
        display.step(f"no stack runs on {data_dir}")


@app.command()
def status(
    data_dir: DataDir = Path(".kubeloop"),
    output: Annotated[str, typer.Option("-o", "--output", help="json, or a table without it")] = "",
) -> None:
    """Show what runs."""
    from kubeloop.cli.down import status as read_status

    if output not in ("", "json"):
        _fail(f"--output={output}: only json is known")
    try:
        shown = read_status(data_dir)
    except UsageError as error:
        _fail(str(error))
    if output == "json":
        print(json.dumps(shown, indent=2))
    else:
        Display().status(shown)


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a command; what the user can mend is one line and exit code 1."""
    try:
        return asyncio.run(work)
    except (UsageError, StartFailed) as error:
        _fail(str(error))
    except BaseExceptionGroup as group:
        expected = group.subgroup((UsageError, StartFailed))
        if expected is None:
            raise
        _fail(str(_first(expected)))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _fail(text: str) -> None:
    print(f"error: {text}", file=sys.stderr)
    raise typer.Exit(1)


def run() -> None:
    """The entry point of the installed command."""
    app()
