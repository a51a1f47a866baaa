"""What the controller needs of Git: which commit a revision is, and the files of a directory in it.

`LocalGit` asks the `git` program, and only its plumbing: no work tree is needed, checked out or touched, so bare
repositories do as well. Nothing of a manifest's repository is executed: hooks and filters belong to checkouts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

COMMAND_SECONDS = 30.0
# A directory of manifests is kilobytes; more than this is refused rather than held in memory.
MAX_BYTES = 16 * 1024 * 1024


class GitError(Exception):
    """The repository, the revision or the path cannot be read; the message is Git's own, or says which it is."""


class Git(Protocol):
    """Read access to repositories, which are named by an absolute path or a file:// URL."""

    async def resolve(self, repository: str, revision: str) -> str:
        """The id of the commit that a branch, a tag or an id (also a short one) means now. Raises GitError."""
        ...

    async def files(self, repository: str, commit: str, path: str) -> Mapping[str, bytes]:
        """The regular files of that directory, not of those below it, by name in Git's order. Raises GitError.

        `path` is relative to the root of the repository; "" and "." are the root.
        """
        ...


class LocalGit:
    """Repositories on this machine, read with the `git` program."""

    async def resolve(self, repository: str, revision: str) -> str:
        wanted = f"{revision}^{{commit}}"
        return (await _git(repository, "rev-parse", "--verify", "--end-of-options", wanted)).decode().strip()

    async def files(self, repository: str, commit: str, path: str) -> Mapping[str, bytes]:
        directory = normal_path(path)
        listing = await _git(repository, "ls-tree", "-z", "-l", "--end-of-options", f"{commit}:{directory}")
        entries = list(_regular_files(listing))
        total = sum(entry.size for entry in entries)
        if total > MAX_BYTES:
            raise GitError(f"{path}: {total} bytes of files are more than the {MAX_BYTES} that are read")
        if not entries:
            return {}
        asked = "".join(f"{entry.object_id}\n" for entry in entries).encode()
        return _contents(await _git(repository, "cat-file", "--batch", stdin=asked), entries)


def normal_path(path: str) -> str:
    """The directory as `commit:path` takes it. GitError where it would lead out of the repository."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise GitError(f"{path}: the path must be relative to the root of the repository, without ..")
    return "" if pure == PurePosixPath() else str(pure)


def local_path(repository: str) -> str:
    """The directory that a path or a file:// URL names."""
    if repository.startswith("/"):
        return repository
    url = urlsplit(repository)
    if url.scheme != "file" or url.netloc not in ("", "localhost"):
        raise GitError(f"{repository}: the repository must be an absolute path or a file:// URL")
    return unquote(url.path)


class _Entry(NamedTuple):
    name: str
    object_id: str
    size: int


def _regular_files(listing: bytes) -> Iterable[_Entry]:
    """Lines of `ls-tree -z -l`; directories, submodules and symbolic links are passed over. Raises GitError."""
    for line in listing.split(b"\0"):
        about, _, name = line.partition(b"\t")
        if about.startswith(b"100"):
            _, _, object_id, size = about.split()
            if not size.isdigit():  # a partial clone, or a damaged one
                raise GitError(f"{name.decode('utf-8', 'replace')}: object {object_id.decode()} is missing")
            yield _Entry(name.decode("utf-8", "surrogateescape"), object_id.decode(), int(size))


def _contents(batch: bytes, entries: Sequence[_Entry]) -> dict[str, bytes]:
    """What `cat-file --batch` wrote: for each object a line about it, its bytes, and a newline."""
    contents, position = {}, 0
    for entry in entries:
        start = batch.index(b"\n", position) + 1
        about = batch[position : start - 1].decode("utf-8", "replace")
        if about != f"{entry.object_id} blob {entry.size}":
            raise GitError(f"{entry.name}: {about}")
        contents[entry.name] = batch[start : start + entry.size]
        position = start + entry.size + 1
    return contents


async def _git(repository: str, *arguments: str, stdin: bytes = b"") -> bytes:
    directory = local_path(repository)
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            "-C",
            directory,
            *arguments,
            # Who reads nothing gets no pipe: writing to it would fail, were the program quicker than we are.
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(directory),
        )
    except OSError as error:
        raise GitError(f"git cannot be run: {error}") from error
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            output, complaint = await process.communicate(stdin or None)
    except TimeoutError:
        raise GitError(f"git {arguments[0]}: no answer in {COMMAND_SECONDS:g} seconds") from None
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        raise GitError(complaint.decode("utf-8", "replace").strip() or f"git {arguments[0]} failed")
    return output


def _environment(directory: str) -> dict[str, str]:
    """Ours, without what points Git to another repository; one that lies around the directory does not count either."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    own = {"GIT_CEILING_DIRECTORIES": str(PurePosixPath(directory).parent), "GIT_NO_LAZY_FETCH": "1"}
    return {**kept, **own, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
