"""Every program and builtin there is. A table of programs is added here."""

from __future__ import annotations

from collections.abc import Mapping

from kubelet_sim.shell.builtins import BUILTINS
from kubelet_sim.shell.files import FILE_PROGRAMS
from kubelet_sim.shell.folders import FOLDER_PROGRAMS
from kubelet_sim.shell.interpreter import Shell
from kubelet_sim.shell.network import NETWORK_PROGRAMS
from kubelet_sim.shell.programs import PROGRAMS, Program
from kubelet_sim.shell.world import World

FOLDERS = ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/")
_FILES: Mapping[str, Program] = {**PROGRAMS, **FILE_PROGRAMS, **FOLDER_PROGRAMS, **NETWORK_PROGRAMS}
_ALL: Mapping[str, Program] = {**_FILES, **BUILTINS}


def find(name: str) -> Program | None:
    """What a shell runs under a name, or a path that leads to a program."""
    return _ALL.get(name) or find_file(name)


def find_file(name: str) -> Program | None:
    """The same without a shell: builtins are no programs."""
    folder = next((one for one in FOLDERS if name.startswith(one)), "")
    return _FILES.get(name.removeprefix(folder))


def shell_in(world: World) -> Shell:
    return Shell(world, find)
