"""The lifecycle hooks of a container: how long they take, whether its postStart hook fails, and what is said of that.

An annotation says how the hook goes (annotations.py):

    kubeloop.io/post-start: fail

Without it one whose command is known to fail fails (commands.py), and all others go well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubelet_sim import commands
from kubelet_sim.annotations import PREFIX, BehaviourError, error
from kubelet_sim.commands import WELL_AT_ONCE, Ending
from kubelet_sim.environment import literals
from kubelet_sim.http_words import url
from kubeloop.apimachinery.field import go_quote

WORD = "post-start"
FAILED = "PostStartHookError"  # why a container waits whose hook failed

_UNKNOWN = Ending(0.5, 0)  # a hook of which nobody can know how long it takes
_PASS, _FAIL = "pass", "fail"
_CODE = 1  # of a command that is said to fail


def post_start(container: Mapping[str, Any], text: str) -> Ending:
    """`text`: what the annotation says of it; "" nothing. Raises BehaviourError."""
    if text not in ("", _PASS, _FAIL):
        raise error(WORD, f"{text!r} is not how a hook goes: write {_PASS} or {_FAIL}")
    found = _ending(container, "postStart")
    if not text:
        return found
    return Ending(found.after_seconds, 0 if text == _PASS or not _hook(container, "postStart") else _CODE)


def pre_stop_seconds(container: Mapping[str, Any]) -> float:
    return _ending(container, "preStop").after_seconds


def pointless(containers: Sequence[Mapping[str, Any]], annotations: Mapping[str, str]) -> Iterator[BehaviourError]:
    """Annotations about hooks that are not there."""
    hooked = {container["name"] for container in containers if _hook(container, "postStart")}
    for container in containers:
        word = f"{WORD}.{container['name']}"
        if f"{PREFIX}{word}" in annotations and container["name"] not in hooked:
            yield error(word, "the container has no postStart hook")
    if f"{PREFIX}{WORD}" in annotations and not hooked:
        yield error(WORD, "no container has a postStart hook")


def foreseen_failure(container: Mapping[str, Any], pod_title: str, ip: str, exit_code: int) -> str:
    """Of a postStart hook that fails here. `ip`: the pod's address. A command has written nothing: none has run."""
    hook = _hook(container, "postStart")
    if "exec" in hook:
        return failure(hook, container, pod_title, exited(hook["exec"], exit_code))
    if "httpGet" in hook:
        return failure(hook, container, pod_title, f'Get "{url(hook["httpGet"], container, ip)}": EOF')
    return failure(hook, container, pod_title, "container terminated before sleep hook finished")


def failure(hook: Mapping[str, Any], container: Mapping[str, Any], pod_title: str, why: str, written: str = "") -> str:
    """In the words of pkg/kubelet/lifecycle/handlers.go (v1.36). `written`: by its command."""
    about = f"for Container {go_quote(container['name'])} in Pod {go_quote(pod_title)} failed - error: {why}"
    if "exec" in hook:
        command = " ".join(hook["exec"].get("command") or ())
        return f"Exec lifecycle hook ([{command}]) {about}, message: {go_quote(written)}"
    if "httpGet" in hook:
        return f"HTTP lifecycle hook ({hook['httpGet'].get('path') or ''}) {about}"
    return f"Sleep lifecycle hook ({(hook.get('sleep') or {}).get('seconds') or 0}) {about}"


def exited(action: Mapping[str, Any], exit_code: int, error: str = "") -> str:
    """What a container runtime says of a command that failed. `error`: what it wrote to its standard error stream."""
    return f"command '{' '.join(action.get('command') or ())}' exited with {exit_code}: {error}"


def _hook(container: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return (container.get("lifecycle") or {}).get(name) or {}


def _ending(container: Mapping[str, Any], name: str) -> Ending:
    hook = _hook(container, name)
    if "sleep" in hook:
        return Ending(float((hook["sleep"] or {}).get("seconds") or 0), 0)
    if "exec" in hook:
        return commands.guess(hook["exec"].get("command") or (), literals(container)) or _UNKNOWN
    return _UNKNOWN if hook else WELL_AT_ONCE
