"""What can be guessed of a command line."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.annotations import NEVER, BehaviourError
from kubelet_sim.behaviour import behaviour_of
from kubelet_sim.commands import Ending, guess, shell_at

NEVER_ENDS = Ending(NEVER, 0)


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        (["true"], Ending(0.1, 0)),
        (["/bin/false"], Ending(0.1, 1)),
        (["echo", "hello"], Ending(0.1, 0)),
        (["sleep", "30"], Ending(30, 0)),
        (["sleep", "1m", "0.5"], Ending(60.5, 0)),
        (["sleep", "infinity"], NEVER_ENDS),
        (["sh", "-c", "exit 1"], Ending(0.1, 1)),
        (["sh", "-ec", "exit 42"], Ending(0.1, 42)),
        (["/bin/bash", "-c", "echo 'a; b' && sleep 5 && exit 3"], Ending(5.001, 3)),
        (["sh", "-c", "false && sleep 100"], Ending(0.1, 1)),
        (["sh", "-c", "false; sleep 2"], Ending(2.001, 0)),
        (["sh", "-c", "# first\nset -e\nfalse\nsleep 100"], Ending(0.1, 1)),
        (["sh", "-c", "echo $HOME > /data/index.html; exit 4"], Ending(0.1, 4)),
        (["sh", "-c", "date | cat"], Ending(0.1, 0)),
        (["sh", "-c", "for i in 1 2 3; do echo $i; sleep 1; done"], Ending(3.003, 0)),
        (["sh", "-c", "i=0; while [ $i -lt 4 ]; do i=$((i+1)); sleep 5; done; exit $i"], Ending(20.005, 4)),
        (["sh", "-c", "if false; then sleep 9; else sleep 2; fi || exit 7"], Ending(2.001, 0)),
        (["sh", "-c", "until false; do sleep 1; done"], NEVER_ENDS),
        (["sh", "-c", "cat /config/answer"], None),
        (["wget", "web:80"], Ending(0.1, 0)),
        (["sh", "-c", "wget -qO- web"], Ending(0.1, 0)),
        (["sh", "-c", "until nslookup db; do sleep 2; done; curl -s web > /dev/null && exit 3"], Ending(0.1, 3)),
        (["sh", "-c", "curl -s web | grep ok"], None),
        (["sh", "-c", "[ $(curl -s web) = ok ]"], None),
        (["sh", "-c", "curl -s web > page; cat page"], None),
        (["sh", "-c", "wget web/page; cat page"], None),
        (["sh", "-c", "curl -s web | true; exit 5"], Ending(0.1, 5)),
        (["sh", "-c", "while sleep 0.01; do wget -qO- web; done"], NEVER_ENDS),
        (["sh", "-c", "$COMMAND"], None),
        (["sh", "-c", "sleep 5 & sleep 9"], None),
        (["sh", "-c", "while true; do date; done"], NEVER_ENDS),
        (["sh", "-c", "echo ready; nginx"], None),
        (["sh", "-c", "echo 'unclosed"], None),
        (["sh", "start.sh"], None),
        (["sh", "-c"], None),
        (["nginx", "-g", "daemon off;"], None),
        ([], None),
    ],
)
def test_a_guess_goes_as_far_as_every_word_is_known(command: list[str], ending: Ending | None) -> None:
    """Known programs and simple scripts end; whatever else is written runs until it is stopped."""
    actual = guess(command)

    if ending is None or actual is None:
        assert ending is actual
    else:
        assert (pytest.approx(ending.after_seconds, abs=0.05), ending.exit_code) == (
            actual.after_seconds,
            actual.exit_code,
        )


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, (NEVER, 0, "")),
        ({"exit-after": "1m30s"}, (90, 0, "")),
        ({"exit-code": "2"}, (0, 2, "")),
        ({"exit-after": "5s", "exit-code": "137", "exit-reason": "OOMKilled"}, (5, 137, "OOMKilled")),
        ({"exit-after": "never"}, (NEVER, 0, "")),
        ({"exit-after.other": "5s"}, (NEVER, 0, "")),
        ({"exit-after": "5s", "exit-after.c": "7s"}, (7, 0, "")),
    ],
)
def test_annotations_say_how_a_container_ends(annotations: dict[str, str], expected: tuple[float, int, str]) -> None:
    """For all containers of the pod, or for the one that is named."""
    said = {f"kubeloop.io/{word}": text for word, text in annotations.items()}

    behaviour = behaviour_of({"name": "c", "image": "web"}, said)

    assert expected == (behaviour.exit_after_seconds, behaviour.exit_code, behaviour.exit_reason)


def test_an_annotation_outranks_the_command() -> None:
    """What somebody says explicitly counts more than what is guessed."""
    behaviour = behaviour_of({"name": "c", "command": ["sleep", "5"]}, {"kubeloop.io/exit-after": "never"})

    assert NEVER == behaviour.exit_after_seconds


@pytest.mark.parametrize(("word", "text"), [("exit-after", "soon"), ("exit-code", "-1"), ("ready-after", "5")])
def test_a_senseless_annotation_is_named(word: str, text: str) -> None:
    """The error says which annotation is meant."""
    with pytest.raises(BehaviourError, match=f"kubeloop.io/{word}"):
        behaviour_of({"name": "c"}, {f"kubeloop.io/{word}": text})


@pytest.mark.parametrize(
    ("container", "shell"),
    [
        ({"command": ["sh"]}, ["sh"]),
        ({"command": ["/bin/bash", "-l"], "args": ["-i"]}, ["/bin/bash", "-l", "-i"]),
        ({"image": "docker.io/library/busybox:1.36"}, ["sh"]),
        ({"image": "debian@sha256:0"}, ["bash"]),
        ({"image": "nginx"}, None),
        ({"command": ["sh", "-c", "date"]}, None),
        ({"command": ["sh", "script"]}, None),
        ({"command": ["cat"]}, None),
        ({"command": ["sh"], "stdin": False}, None),
    ],
)
def test_who_attaches_types_to_a_shell_without_a_script(container: dict[str, Any], shell: list[str] | None) -> None:
    """Be it the image's own, of a container that keeps its standard input open; to nothing else."""
    assert shell == shell_at({"image": "any", "stdin": True, **container}, {})
