"""How the tour is shown: a live table in a terminal, a line per change anywhere else."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from kubeloop.cli.demo.snapshot import Snapshot

STYLES = {"Running": "green", "Pending": "yellow", "Terminating": "red"}


class View:
    """`title` begins a step, `show` shows how things are while it converges, `say` tells what happened."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._live: Live | None = None
        self._last_line = ""

    def title(self, text: str) -> None:
        self._console.print()
        self._print(f"[bold]{text}[/bold]")

    def say(self, text: str) -> None:
        self.settle()
        self._print(text)

    def show(self, snapshot: Snapshot) -> None:
        if self._console.is_terminal:
            if self._live is None:
                self._live = Live(console=self._console, auto_refresh=False)
                self._live.start()
            self._live.update(_table(snapshot), refresh=True)
        elif snapshot.line() != self._last_line:
            self._last_line = snapshot.line()
            self._print(f"  {self._last_line}")

    def _print(self, text: str) -> None:
        """Without a terminal a line is as long as it is, to be searched in a log."""
        self._console.print(text, soft_wrap=not self._console.is_terminal)

    def settle(self) -> None:
        """Leave the table as it is; what comes next is printed below it."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def _table(snapshot: Snapshot) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)  # 80 columns are enough for it
    for column in ("Deployment", "ReplicaSet", "Pod", "Node", "Phase"):
        table.add_column(column, no_wrap=True)
    deployment = f"web {snapshot.available}/{snapshot.wanted}"
    for replica_set in snapshot.replica_sets:
        shown = f"{replica_set.name} {replica_set.ready}/{replica_set.wanted}\n[dim]{replica_set.image}[/dim]"
        pods = [pod for pod in snapshot.pods if pod.replica_set == replica_set.name]
        for pod in pods:
            phase = f"[{STYLES.get(pod.phase, 'default')}]{pod.phase}[/]"
            table.add_row(deployment, shown, pod.name, pod.node or "-", phase)
            deployment = shown = ""
        if not pods:
            table.add_row(deployment, shown, "-", "-", "-")
            deployment = ""
    if not snapshot.replica_sets:
        table.add_row(deployment, "-", "-", "-", "-")
    return table
