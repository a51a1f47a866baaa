"""What the commands show: steps while something takes time, then one panel to go on from."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from kubeloop.cli.options import DEFAULT_DATA_DIR, UpOptions
from kubeloop.cli.programs import beside_python, find_kubectl, shown
from kubeloop.cli.state import StackState


class Display:
    """Writes to a terminal, or plain lines where there is none."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)

    def step(self, text: str) -> None:
        self.console.print(f"[dim]·[/dim] {text}")

    def note(self, text: str) -> None:
        self.console.print(f"[yellow]![/yellow] {text}")

    def ready(self, options: UpOptions, state: StackState) -> None:
        """Where it is, what runs, and what to try. The commands stand alone on their lines, to be copied."""
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row("API server", state.server)
        table.add_row("kubeconfig", f"{state.kubeconfig} (context kubeloop)")
        table.add_row("state", f"{options.data_dir}/ (logs in {options.data_dir}/logs)")
        if not state.nodes:
            table.add_row("nodes", f"none is asked for, and pods stay Pending: {_kubeloop('scale nodes 3', options)}")
        table.add_row("processes", ", ".join(f"{process.name} {process.pid}" for process in state.processes))
        tries = Text("\n".join(f"  {command}" for command in _commands(options)))
        content = Group(table, "", Text("try", style="bold"), tries, Text("stop", style="bold"), _how_to_stop(options))
        title = "kubeloop is ready" if state.nodes else "kubeloop is ready, without nodes"
        self.console.print(Panel(content, title=title, border_style="green", expand=False))

    def stopped(self) -> None:
        self.step("everything is stopped; the state is kept")

    def status(self, status: dict[str, Any]) -> None:
        table = Table(title=f"{status['server']} ({'ready' if status['ready'] else 'not ready'})")
        for column in ("name", "pid", "state", "restarts"):
            table.add_column(column)
        for process in status["processes"]:
            table.add_row(process["name"], str(process["pid"] or "-"), process["state"], str(process["restarts"]))
        self.console.print(table)
        if not status["supervised"] and any(process["pid"] for process in status["processes"]):
            self.note("the supervisor is gone: nothing that ends is started again; `kubeloop up` takes over")


def _commands(options: UpOptions) -> list[str]:
    kubectl = shown(find_kubectl(), "kubectl")
    return [
        *([f"export KUBECONFIG={options.kubeconfig}"] if options.kubeconfig else []),
        f"{kubectl} get nodes",
        f"{kubectl} create deployment web --image=nginx --replicas=3",
        f"{kubectl} get pods -o wide --watch",
    ]


def _how_to_stop(options: UpOptions) -> Text:
    down = _kubeloop("down", options)
    return Text(f"  {down}" if options.detach else f"  Ctrl-C here, or {down}")


def _kubeloop(command: str, options: UpOptions) -> str:
    """As it is written to mean this stack."""
    flag = f" --data-dir {options.data_dir}" if options.data_dir != DEFAULT_DATA_DIR else ""
    return f"{shown(beside_python('kubeloop'), 'kubeloop')} {command}{flag}"
