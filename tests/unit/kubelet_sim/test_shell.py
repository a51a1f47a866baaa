"""The shell over simulated state: what scripts print and how they end."""

from __future__ import annotations

import pytest

from kubelet_sim.shell.playing import Play
from kubelet_sim.shell.world import World


def run(script: str, **files: str) -> tuple[str, int | None]:
    """Both outputs together, and the exit code."""
    world = World(
        {"HOME": "/root", "NAME": "web"}, {f"/{name}": text for name, text in files.items()}, hostname="web-0"
    )
    play = Play(world, ["sh", "-c", script])
    while play.step():
        pass
    return "".join(written.text for written in play.written), play.exit_code


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("echo hello   world", "hello world\n"),
        ("echo '$NAME' \"$NAME\" $NAME", "$NAME web web\n"),
        ("X='a  b'; echo $X \"$X\"", "a b a  b\n"),
        ("echo ${MISSING:-other} ${NAME#w} ${NAME%b} ${#NAME}", "other eb we 3\n"),
        ("echo $((2 + 3 * 4)) $((7 / 2)) $((-7 % 3))", "14 3 -1\n"),
        ("echo $(echo inner; echo two) `hostname`", "inner two web-0\n"),
        ("if [ $NAME = web ]; then echo yes; else echo no; fi", "yes\n"),
        ("for x in a b c; do [ $x = b ] && continue; echo $x; done", "a\nc\n"),
        ("i=0; until [ $i -ge 3 ]; do i=$((i+1)); echo $i; done", "1\n2\n3\n"),
        ("(cd /etc; pwd); pwd", "/etc\n/\n"),
        ("printf '%s-%03d\\n' a 7 b 8", "a-007\nb-008\n"),
        ("printf 'a\\nb\\nc\\n' | grep -v b | tail -n 1", "c\n"),
        ("printf '1 x\\n2 y\\n' | while read n t; do echo $t$n; done", "x1\ny2\n"),
        ("echo new > /tmp/f; echo more >> /tmp/f; wc -l < /tmp/f", "2\n"),
        ("{ echo out; echo err >&2; } 2>/dev/null", "out\n"),
        ("false || echo $?; ! true; echo $?", "1\n1\n"),
        ("A=1 env | grep ^A; echo $A", "A=1\n\n"),
        ("yes() { echo; }", "sh: functions are not simulated\n"),
        ("nothing", "sh: nothing: not found\n"),
        ("date -u foo || echo $?", "date: invalid date 'foo'\n1\n"),
        ("cat /none", "cat: can't open '/none': No such file or directory\n"),
    ],
)
def test_what_scripts_print(script: str, printed: str) -> None:
    """As a POSIX shell's would, for all of the language that is read."""
    assert printed == run(script)[0]


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("cat /etc/*", "A\nB\n"),
        ("cd /etc; echo *.conf '*' \"?\" .*", "a.conf b.conf * ? .hidden\n"),
        ("echo /none/*", "/none/*\n"),
        ("echo /*tc/?.conf", "/etc/a.conf /etc/b.conf\n"),
        ("for file in /etc/*; do echo $file; done", "/etc/a.conf\n/etc/b.conf\n"),
    ],
)
def test_a_pattern_stands_for_files(script: str, printed: str) -> None:
    """In order; hidden ones only where it says so; for itself where it is quoted, or no file is like it."""
    files = {"etc/a.conf": "A\n", "etc/b.conf": "B\n", "etc/.hidden": "H\n"}
    assert printed == run(script, **files)[0]


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("mkdir -p /d/e; cp /etc/x /d/e; mv /d/e/x /d/y; ls /d /d/e; cat /d/y", "/d:\ne\ny\n/d/e:\nX\n"),
        ("mkdir /a/b", "mkdir: can't create directory '/a/b': No such file or directory\n"),
        ("mkdir /d /d", "mkdir: can't create directory '/d': File exists\n"),
        ("mkdir /d; cd /d && pwd; cd; rmdir /d; ls -d /d", "/d\nls: /d: No such file or directory\n"),
        ("cp /none /etc", "cp: can't stat '/none': No such file or directory\n"),
        ("mv /etc/x /etc/x; cat /etc/x", "X\n"),
        ("rm /etc", "rm: '/etc' is a directory\n"),
        ("rm /none; rm -f /none; rm -rf /etc; ls /etc", "rm: can't remove '/none': No such file or directory\n"),
        ("ls -l /etc", "total 0\n-rw-r--r--    1 root     root             2 Jan  1 00:00 x\n"),
        ("ls -ld /etc", "drwxr-xr-x    2 root     root          4096 Jan  1 00:00 /etc\n"),
        ("ls -a /etc", ".\n..\nx\n"),
    ],
)
def test_files_are_listed_made_and_moved(script: str, printed: str) -> None:
    """In the words of busybox."""
    assert printed == run(script, **{"etc/x": "X\n"})[0]


@pytest.mark.parametrize("url", ["http://web:²/", "web:" + "9" * 5000, "http://", ":80", "//"])
def test_odd_addresses_are_asked_for_as_they_are(url: str) -> None:
    """Nobody has them, and a container that asks for one is no trouble to its node."""
    play = Play(World(is_guess=True), ["wget", "-qO-", url])
    while play.step():
        pass

    assert 0 == play.exit_code and 1 == len(play.written)


@pytest.mark.parametrize(
    ("script", "printed", "code"),
    [
        ("type ls cd nothing", "ls is /bin/ls\ncd is a shell builtin\nnothing: not found\n", 127),
        ("which ls nothing", "/bin/ls\n", 1),
        ("hostname -i; hostname", "10.0.0.9\nweb-0\n", 0),
    ],
)
def test_what_there_is_can_be_asked(script: str, printed: str, code: int) -> None:
    """Programs, what the shell does itself, and the pod's address; nothing of that is run."""
    assert (printed, code) == run(script, **{"etc/hosts": "127.0.0.1\tlocalhost\n10.0.0.9\tweb-0\n"})


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 3", 3),
        ("false", 1),
        ("nothing", 127),
        ("set -e; false; exit 5", 1),
        ("set -e; false || true; if false; then :; fi; exit 5", 5),
        ("true | false", 1),
        ("(exit 4); exit $?", 4),
        ("echo 'open", 2),
        ("exec sh -c 'exit 9'; exit 1", 9),
    ],
)
def test_how_scripts_end(script: str, code: int) -> None:
    """With the exit code of the last command, or of what ended them."""
    assert code == run(script)[1]


def test_files_are_those_of_the_container() -> None:
    """What is there is listed and read, and nothing of the machine is."""
    assert "app.conf\n" == run("ls /etc", **{"etc/app.conf": "x"})[0]
    assert "x" == run("cd /etc; cat app.conf", **{"etc/app.conf": "x"})[0]
    assert 1 == run("cat /etc/passwd")[1]
