"""What a script sees of the container it runs in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, MutableSet, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class UnknownProgram(Exception):
    """A program that nothing is known of: only where the script's end is to be guessed (`World.is_guess`)."""


@dataclass(slots=True)
class World:
    """`files`: absolute path -> content; what a script writes is added. `directories`: those that are made, or mounted.
    `process`: the container's own command.

    `is_guess`: nobody asked this script anything; where it needs what is not known it is given up (UnknownProgram)
    instead of being told that there is no such thing.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    files: MutableMapping[str, str] = field(default_factory=dict)
    directories: MutableSet[str] = field(default_factory=set)
    hostname: str = "localhost"
    user: int = 0
    group: int = 0
    more_groups: Sequence[int] = ()
    working_dir: str = "/"
    process: Sequence[str] = ()
    process_started_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    now: Callable[[], datetime] = lambda: datetime(1970, 1, 1, tzinfo=UTC)
    has_terminal: bool = False
    is_guess: bool = False
    is_endless: bool = False  # a loop without an end is played on, not given up
    # Loops that repeat themselves may leave out what would be over before so many seconds have passed.
    skip_to_seconds: float = 0.0
    elapsed: Callable[[], float] = lambda: 0.0

    @property
    def user_name(self) -> str:
        return "root" if self.user == 0 else str(self.user)

    def is_directory(self, path: str) -> bool:
        if path in _DIRECTORIES or path in self.directories:
            return True
        return any(name.startswith(f"{path.rstrip('/')}/") for name in (*self.files, *self.directories))

    def entries(self, path: str) -> list[str]:
        """The names in a directory, in order."""
        prefix = f"{path.rstrip('/')}/"
        paths = [*self.files, *self.directories, *(name for name in _DIRECTORIES if name != "/")]
        return sorted({name[len(prefix) :].partition("/")[0] for name in paths if name.startswith(prefix)})

    def matching(self, directory: str, pattern: str) -> list[str]:
        """The files and directories that a pattern of names stands for, as it spells them; hidden ones are left out."""
        steps = pattern[:_LONGEST_PATTERN].split("/")
        is_absolute = not steps[0]
        found = [("/" if is_absolute else directory, "")]
        for step in steps[is_absolute:]:
            found = [
                (f"{path.rstrip('/')}/{name}", f"{shown}/{name}")
                for path, shown in found
                for name in self.entries(path)
                if fnmatchcase(name, step) and (not name.startswith(".") or step.startswith("."))
            ]
        return [shown if is_absolute else shown[1:] for _, shown in found]


_LONGEST_PATTERN = 200
_DIRECTORIES = frozenset(
    {"/", "/bin", "/dev", "/etc", "/home", "/lib", "/proc", "/root", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var"}
)
