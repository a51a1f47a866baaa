"""An explanation as JSON, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from controllers.scheduler.status import Code
from controllers.scheduler.why.explanation import Explanation, NodeVerdict
from controllers.scheduler.why.last_word import condition_of
from controllers.scheduler.why.search import Remedy
from kubeloop.apimachinery.meta import controller_of

MAX_NODES_SHOWN = 20  # in text, of those that fit and of those that refuse; JSON has them all


def as_json(explanation: Explanation) -> dict[str, Any]:
    """`nodes` in the scheduler's order; `preemptionMayHelp`: removing pods from that node could change the answer."""
    ranking, nomination = explanation.ranking, explanation.nomination
    return {
        "pod": {"namespace": explanation.pod.namespace, "name": explanation.pod.name},
        "scheduler": explanation.pod.scheduler_name,
        "nodeName": explanation.placed_on or None,
        "schedulable": not explanation.is_stuck,
        "message": explanation.message,
        "nominatedNodeName": explanation.pod.nominated_node_name or None,
        "condition": _condition_as_json(explanation),
        "contradiction": explanation.contradiction or None,
        "promise": explanation.promise or None,
        "gates": [{"plugin": gate.plugin, "reason": gate.message} for gate in explanation.gates],
        "winners": [node.name for node in explanation.winners] if ranking else [],
        "runnerUp": _runner_up(explanation),
        "nodesToScore": explanation.enough,
        "extendersNotAsked": list(explanation.unasked),
        "nodes": [_node_as_json(node) for node in explanation.nodes],
        "preemption": nomination
        and {"nodeName": nomination.node_name, "victims": [str(victim.key) for victim in nomination.victims]},
        "remedies": [_remedy_as_json(remedy) for remedy in explanation.remedies],
    }


def _condition_as_json(explanation: Explanation) -> dict[str, Any] | None:
    condition = condition_of(explanation.pod)
    return None if condition is None else {field: condition.get(field) for field in ("status", "reason", "message")}


def _runner_up(explanation: Explanation) -> dict[str, Any] | None:
    behind = explanation.ranking[len(explanation.winners) :] if explanation.ranking else []
    if not behind:
        return None
    return {"name": behind[0].name, "pointsBehind": explanation.winners[0].total - behind[0].total}


def _node_as_json(node: NodeVerdict) -> dict[str, Any]:
    if node.fits:
        return {"name": node.name, "fits": True, "score": node.total, "scores": dict(node.scores)}
    refusals = [
        {
            "plugin": status.plugin,
            "reasons": list(status.reasons),
            "preemptionMayHelp": status.code is Code.UNSCHEDULABLE,
        }
        for status in node.refusals
    ]
    return {"name": node.name, "fits": False, "refusals": refusals}


def _remedy_as_json(remedy: Remedy) -> dict[str, Any]:
    changes = [{"text": change.text, "command": change.command or None} for change in remedy.changes]
    return {"nodeName": remedy.node_name, "changes": changes}


def as_text(explanation: Explanation) -> str:
    return "\n".join(_lines(explanation))


def _lines(explanation: Explanation) -> Iterator[str]:
    yield _headline(explanation)
    if explanation.contradiction:
        yield explanation.contradiction
    if explanation.promise:
        yield explanation.promise
    if len(explanation.ranking) > explanation.enough > 0:
        enough = f"the first {explanation.enough} of the {len(explanation.ranking)} nodes that fit"
        yield f"It may go to another: the scheduler is content with {enough} (percentageOfNodesToScore)."
    if explanation.unasked:
        yield f"HTTP extenders have a say, too, and are not asked here: {', '.join(explanation.unasked)}."
    if explanation.nomination is not None:
        victims = ", ".join(str(victim.key) for victim in explanation.nomination.victims)
        yield f"Preemption would make room on {explanation.nomination.node_name} by removing {victims}."
    fitting, refusing = explanation.ranking, [node for node in explanation.nodes if not node.fits]
    if fitting:
        yield ""
        yield from _scores(fitting)
    if refusing:
        yield ""
        yield from _refusals(refusing)
    if explanation.is_stuck:
        yield ""
        yield from _remedies(explanation)


def _headline(explanation: Explanation) -> str:
    pod, winners = f"pod {explanation.pod.key}", explanation.winners if explanation.ranking else []
    if explanation.gates:
        held = "; ".join(gate.message for gate in explanation.gates)
        beyond = f"could go to {winners[0].name}" if winners else f"would fit on no node: {explanation.message}"
        return f"{pod} is not tried at all: {held}. Otherwise it {beyond}"
    again = "Decided anew without it, as the cluster is now,"
    if not winners:
        if explanation.placed_on:
            return f"{pod} is on {explanation.placed_on}. {again} it would fit nowhere: {explanation.message}"
        return f"{pod} fits on no node: {explanation.message}"
    names = " or ".join(node.name for node in winners) + (" (equal: chance decides)" if len(winners) > 1 else "")
    runner_up = _runner_up(explanation)
    margin = f"; runner-up is {runner_up['name']}, {runner_up['pointsBehind']} points behind" if runner_up else ""
    if explanation.placed_on:
        return f"{pod} is on {explanation.placed_on}. {again} it would go to {names}{margin}."
    return f"{pod} would go to {names}{margin}."


def _scores(nodes: Sequence[NodeVerdict]) -> Iterator[str]:
    """A line a node, a column a plugin; plugins that give every node the same say nothing and are left out."""
    plugins = [name for name in nodes[0].scores if len({node.scores[name] for node in nodes}) > 1]
    rows = [["NODE", "SCORE", *plugins]]
    rows += [
        [node.name, str(node.total), *(str(node.scores[plugin]) for plugin in plugins)]
        for node in nodes[:MAX_NODES_SHOWN]
    ]
    yield from _table(rows)
    yield from _rest(len(nodes), "fit")


def _refusals(nodes: Sequence[NodeVerdict]) -> Iterator[str]:
    rows = [["NODE", "REFUSED BY"]]
    for node in nodes[:MAX_NODES_SHOWN]:
        rows.append([node.name, "; ".join(f"{status.plugin}: {status.message}" for status in node.refusals)])
    yield from _table(rows)
    yield from _rest(len(nodes), "refuse")


def _rest(count: int, verb: str) -> Iterator[str]:
    if count > MAX_NODES_SHOWN:
        yield f"... and {count - MAX_NODES_SHOWN} more that {verb} (--output json shows all)"


def _remedies(explanation: Explanation) -> Iterator[str]:
    if not explanation.remedies:
        yield "No single change that is known here would let it fit."
        return
    for i, remedy in enumerate(explanation.remedies):
        yield f"{'Smallest change: ' if i == 0 else 'Or: '}{remedy.text}."
        for change in remedy.changes:
            if change.command:
                yield f"    {change.command}"
    owner = controller_of(explanation.pod.pod)
    if owner is not None and any(change.edit_pod for remedy in explanation.remedies for change in remedy.changes):
        yield f"What is said of the pod goes into the template it is made from ({owner['kind']} {owner['name']})."


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
