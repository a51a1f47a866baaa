"""What the commands show: steps while something takes time, then one panel to go on from."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from kubeloop.cli.kubectl import shown_kubectl
from kubeloop.cli.options import DEFAULT_DATA_DIR, UpOptions
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
        kubectl = shown_kubectl()
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row("[bold]API server[/bold]", state.server)
        table.add_row("[bold]kubeconfig[/bold]", f"{state.kubeconfig} (context kubeloop)")
        table.add_row("[bold]state[/bold]", f"{options.data_dir}/ (logs in {options.data_dir}/logs)")
        running = ", ".join(f"{process.name} {process.pid}" for process in state.processes)
        table.add_row("[bold]processes[/bold]", running)
        table.add_row("", "")
        tries = [
            f"{kubectl} get nodes",
            f"{kubectl} create deployment web --image=nginx --replicas=3",
            f"{kubectl} get pods -o wide --watch",
        ]
        if options.kubeconfig:
            tries.insert(0, f"export KUBECONFIG={state.kubeconfig}")
        for head, text in zip(["[bold]try[/bold]", *[""] * len(tries)], tries, strict=False):
            table.add_row(head, text)
        table.add_row("[bold]stop[/bold]", _how_to_stop(options))
        self.console.print(Panel(table, title="kubeloop is ready", border_style="green", expand=False))

    def stopped(self) -> None:
        self.step("everything is stopped; the state is kept")

    def status(self, status: dict[str, Any]) -> None:
        table = Table(title=f"{status['server']} ({'ready' if status['ready'] else 'not ready'})")
        for column in ("name", "pid", "state", "restarts"):
            table.add_column(column)
        for process in status["processes"]:
            table.add_row(process["name"], str(process["pid"] or "-"), process["state"], str(process["restarts"]))
        self.console.print(table)


def _how_to_stop(options: UpOptions) -> str:
    is_default = options.data_dir == DEFAULT_DATA_DIR
    down = "kubeloop down" if is_default else f"kubeloop down --data-dir {options.data_dir}"
    return down if options.detach else f"Ctrl-C here, or {down}"
