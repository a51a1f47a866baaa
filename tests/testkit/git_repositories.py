"""Git repositories for tests: real ones in a folder, and one that only exists in memory, written to in the same way."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from examples.operators.gitops.git import GitError, local_path, normal_path

_AUTHOR = {f"GIT_{who}_{what}": "alice" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_DATE = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


class Repository(Protocol):
    """How a test writes to a repository."""

    @property
    def url(self) -> str: ...

    def commit(self, files: Mapping[str, str], branch: str = "main") -> str:
        """Make exactly these files the content of the branch; returns the commit's id."""
        ...

    def tag(self, name: str, commit: str) -> None: ...


class RealRepository:
    """A bare repository, written to with plumbing alone."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.url = str(directory)
        directory.mkdir(parents=True)
        self._git("init", "--quiet", "--bare", "--initial-branch=main")

    def commit(self, files: Mapping[str, str], branch: str = "main") -> str:
        self._git("read-tree", "--empty")
        for path, content in files.items():
            blob = self._git("hash-object", "-w", "--stdin", stdin=content)
            self._git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
        parent = self._git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        commit = self._git("commit-tree", self._git("write-tree"), "-m", branch, *(["-p", parent] if parent else []))
        self._git("update-ref", f"refs/heads/{branch}", commit)
        return commit

    def tag(self, name: str, commit: str) -> None:
        self._git("tag", "--annotate", "--message", name, name, commit)

    def _git(self, *arguments: str, stdin: str = "") -> str:
        environment = {**os.environ, **_AUTHOR, **_DATE, **_ALONE}
        command = ["git", "-C", self.url, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=True, env=environment)
        return done.stdout.strip()


class MemoryGit:
    """A `Git` of one repository that is written to like a real one; it passes the same suite."""

    def __init__(self, url: str = "/repository") -> None:
        self.url = url
        self._commits: dict[str, Mapping[str, str]] = {}
        self._names: dict[str, str] = {}

    def commit(self, files: Mapping[str, str], branch: str = "main") -> str:
        content = repr((sorted(files.items()), branch, self._names.get(branch)))
        commit = hashlib.sha1(content.encode()).hexdigest()
        self._commits[commit] = dict(files)
        self._names[branch] = commit
        return commit

    def tag(self, name: str, commit: str) -> None:
        self._names[name] = commit

    async def resolve(self, repository: str, revision: str) -> str:
        self._check(repository)
        if revision == "HEAD":
            revision = "main"
        if revision in self._names:
            return self._names[revision]
        found = [commit for commit in self._commits if len(revision) >= 4 and commit.startswith(revision)]
        if len(found) != 1:
            raise GitError(f"fatal: Needed a single revision: {revision}")
        return found[0]

    async def files(self, repository: str, commit: str, path: str) -> Mapping[str, bytes]:
        self._check(repository)
        directory = normal_path(path)
        prefix = f"{directory}/" if directory else ""
        below = [name for name in sorted(self._commits[commit]) if name.startswith(prefix)]
        if not below:
            raise GitError(f"fatal: Not a valid object name {commit}:{directory}")
        names = [name for name in below if "/" not in name.removeprefix(prefix)]
        return {name.removeprefix(prefix): self._commits[commit][name].encode() for name in names}

    def _check(self, repository: str) -> None:
        if local_path(repository) != self.url:
            raise GitError(f"fatal: cannot change to '{local_path(repository)}': No such file or directory")
