"""What the commands show: steps while something takes time, then one panel to go on from."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from kubeloop.cli.options import UpOptions
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
        """Where it is, what runs, and what to try."""
        kubectl = f"kubectl --kubeconfig {state.kubeconfig}" if options.kubeconfig else "kubectl"
        table = Table.grid(padding=(0, 2))
        table.add_row("[bold]API server[/bold]", state.server)
        table.add_row("[bold]kubeconfig[/bold]", f"{state.kubeconfig} (context kubeloop)")
        table.add_row("[bold]state[/bold]", f"{options.data_dir}/ (logs in {options.data_dir}/logs)")
        running = ", ".join(f"{process.name} {process.pid}" for process in state.processes)
        table.add_row("[bold]processes[/bold]", running)
        table.add_row("", "")
        table.add_row("[bold]try[/bold]", f"{kubectl} get nodes")
        table.add_row("", f"{kubectl} create deployment web --image=nginx --replicas=3")
        table.add_row("", f"{kubectl} get pods -o wide --watch")
        stop = "kubeloop down" if options.detach else "Ctrl-C here, or kubeloop down"
        table.add_row("[bold]stop[/bold]", stop)
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
