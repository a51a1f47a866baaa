"""Reading an Application's source: the commit its revision means now, and the manifests of that commit."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from examples.operators.gitops.application import Source
from examples.operators.gitops.git import Git
from examples.operators.gitops.manifests import Directory, read

_REMEMBERED = 64  # directories; full: the one not asked for longest is read again when it is


@dataclass(frozen=True, slots=True)
class Snapshot:
    commit: str
    directory: Directory


class Sources:
    """A commit never changes, so its manifests are read once; asking for one costs what `resolve` does."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._known: OrderedDict[tuple[str, str, str], Directory] = OrderedDict()

    async def read(self, source: Source) -> Snapshot:
        """Raises GitError."""
        commit = await self._git.resolve(source.repository, source.revision)
        key = (source.repository, commit, source.path)
        if key not in self._known:
            self._known[key] = read(await self._git.files(source.repository, commit, source.path))
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return Snapshot(commit, self._known[key])
