"""Programs that list, make, move and remove files and directories of the world."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from kubelet_sim.shell.effects import Running
from kubelet_sim.shell.files import NO_SUCH_FILE, parted
from kubelet_sim.shell.interpreter import Shell
from kubelet_sim.shell.programs import Program, ends, refuse, write_lines

_DIRECTORY_BYTES = 4096


def _ls(shell: Shell, arguments: Sequence[str]) -> Running:
    options, names = parted(arguments)
    letters, code = frozenset("".join(options)), 0
    names = names or ["."]
    for name in names:
        path = shell.path(name)
        if path in shell.world.files or ("d" in letters and shell.world.is_directory(path)):
            yield from write_lines([_listed(shell, path, name, letters)])
        elif shell.world.is_directory(path):
            entries = shell.world.entries(path)
            shown = ([".", ".."] if "a" in letters else []) + [
                entry for entry in entries if not entry.startswith(".") or letters & {"a", "A"}
            ]
            heading = ([f"{name}:\n"] if len(names) > 1 else []) + (["total 0\n"] if "l" in letters else [])
            yield from write_lines(heading + [_listed(shell, f"{path}/{entry}", entry, letters) for entry in shown])
        else:
            code = yield from refuse("ls", f"{name}: {NO_SUCH_FILE}")
    return code


def _listed(shell: Shell, path: str, name: str, letters: frozenset[str]) -> str:
    """A line about one file or directory; `-l` as busybox has it."""
    if "l" not in letters:
        return f"{name}\n"
    content = shell.world.files.get(shell.path(path))
    mode, links, size = (
        ("drwxr-xr-x", 2, _DIRECTORY_BYTES) if content is None else ("-rw-r--r--", 1, len(content.encode()))
    )
    since = shell.world.process_started_at.strftime("%b %e %H:%M")
    return f"{mode} {links:>4} root     root     {size:>9} {since} {name}\n"


def _mkdir(shell: Shell, arguments: Sequence[str]) -> Running:
    options, names = parted(arguments, "m")
    makes_parents, code = "p" in "".join(options), 0
    for name in names:
        path = shell.path(name)
        if shell.world.is_directory(path) or path in shell.world.files:
            if not makes_parents:
                code = yield from refuse("mkdir", f"can't create directory '{name}': File exists")
        elif makes_parents or shell.world.is_guess or shell.world.is_directory(posixpath.dirname(path)):
            shell.world.directories.add(path)
        else:
            code = yield from refuse("mkdir", f"can't create directory '{name}': {NO_SUCH_FILE}")
    return code


def _rmdir(shell: Shell, arguments: Sequence[str]) -> Running:
    code = 0
    for name in arguments:
        path = shell.path(name)
        if shell.world.entries(path):
            code = yield from refuse("rmdir", f"'{name}': Directory not empty")
        elif path in shell.world.directories:
            shell.world.directories.remove(path)
        elif not shell.world.is_guess:
            code = yield from refuse("rmdir", f"'{name}': {NO_SUCH_FILE}")
    return code


def _carried(program: str, stays: bool) -> Program:
    """`cp` and `mv`, of files."""

    def carry(shell: Shell, arguments: Sequence[str]) -> Running:
        _, names = parted(arguments)
        if len(names) < 2:
            return (yield from refuse(program, f"usage: {program} SOURCE... DEST"))
        *sources, to = names
        target, code = shell.path(to), 0
        for source in sources:
            path = shell.path(source)
            content = shell.world.files.get(path)
            if content is not None:
                into = posixpath.join(target, posixpath.basename(path)) if shell.world.is_directory(target) else target
                shell.world.files[into] = content
                if not stays and into != path:
                    shell.world.files.pop(path)
            elif not shell.world.is_guess:  # there the image may have it
                why = "omitting directory" if shell.world.is_directory(path) else NO_SUCH_FILE
                code = yield from refuse(program, f"can't {'stat' if stays else 'rename'} '{source}': {why}")
        return code

    return carry


def _touch(shell: Shell, arguments: Sequence[str]) -> Running:
    for name in arguments:
        shell.world.files.setdefault(shell.path(name), "")
    return 0
    yield


def _rm(shell: Shell, arguments: Sequence[str]) -> Running:
    options, names = parted(arguments)
    letters, code = "".join(options), 0
    for name in names:
        path = shell.path(name)
        inside = {one for one in (*shell.world.files, *shell.world.directories) if one.startswith(f"{path}/")}
        if shell.world.is_directory(path) and "r" not in letters and "R" not in letters:
            code = yield from refuse("rm", f"'{name}' is a directory")
        elif path not in shell.world.files and not shell.world.is_directory(path):
            if "f" not in letters and not shell.world.is_guess:
                code = yield from refuse("rm", f"can't remove '{name}': {NO_SUCH_FILE}")
        else:
            for one in inside | {path}:
                shell.world.files.pop(one, None)
                shell.world.directories.discard(one)
    return code


FOLDER_PROGRAMS: Mapping[str, Program] = {
    **dict.fromkeys(("chmod", "chown", "ln"), ends(0)),
    "cp": _carried("cp", stays=True),
    "ls": _ls,
    "mkdir": _mkdir,
    "mv": _carried("mv", stays=False),
    "rm": _rm,
    "rmdir": _rmdir,
    "touch": _touch,
}
