"""What a script sees of the container it runs in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class UnknownProgram(Exception):
    """A program that nothing is known of: only where the script's end is to be guessed (`World.is_guess`)."""


@dataclass(slots=True)
class World:
    """`files`: absolute path -> content; what a script writes is added. `process`: the container's own command.

    `is_guess`: nobody asked this script anything; where it needs what is not known it is given up (UnknownProgram)
    instead of being told that there is no such thing.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    files: MutableMapping[str, str] = field(default_factory=dict)
    hostname: str = "localhost"
    user: int = 0
    group: int = 0
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
        return path in _DIRECTORIES or any(name.startswith(f"{path.rstrip('/')}/") for name in self.files)

    def entries(self, path: str) -> list[str]:
        """The names in a directory, in order."""
        prefix = f"{path.rstrip('/')}/"
        paths = [*self.files, *(name for name in _DIRECTORIES if name != "/")]
        return sorted({name[len(prefix) :].partition("/")[0] for name in paths if name.startswith(prefix)})


_DIRECTORIES = frozenset(
    {"/", "/bin", "/dev", "/etc", "/home", "/lib", "/proc", "/root", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var"}
)
