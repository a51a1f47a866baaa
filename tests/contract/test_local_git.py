"""The `git` program behind LocalGit, and the stand-in for tests on virtual time, keep one contract."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
import uvloop

from examples.operators.gitops import git
from examples.operators.gitops.git import Git, GitError, LocalGit
from tests.contract.git_suite import FILES, GitSuite
from tests.testkit.git_repositories import MemoryGit, RealRepository, Repository


class TestLocalGit(GitSuite):
    def make(self, directory: Path) -> tuple[Repository, Git]:
        return RealRepository(directory), LocalGit()


class TestLocalGitOnUvloop(TestLocalGit):
    """The loop that processes run on is stricter about pipes that are closed already."""

    loop_factory = staticmethod(uvloop.new_event_loop)


class TestMemoryGit(GitSuite):
    def make(self, directory: Path) -> tuple[Repository, Git]:
        memory = MemoryGit(str(directory))
        return memory, memory


def test_a_directory_inside_another_repository_is_none(tmp_path: Path) -> None:
    """Or a typing error in repoURL would apply what lies around it."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "inner").mkdir()

    with pytest.raises(GitError, match="not a git repository"):
        asyncio.run(LocalGit().resolve(str(tmp_path / "inner"), "HEAD"))


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A symbolic link in a repository could point anywhere."""
    work = tmp_path / "work"
    subprocess.run(["git", "init", "--quiet", str(work)], check=True)
    (work / "secret.yaml").symlink_to("/etc/passwd")
    (work / "a.yaml").write_text("a: 1\n")
    identity = ["-c", "user.name=alice", "-c", "user.email=alice@example.com"]
    subprocess.run(["git", "-C", str(work), "add", "."], check=True)
    subprocess.run(["git", "-C", str(work), *identity, "commit", "--quiet", "-m", "one"], check=True)
    commit = asyncio.run(LocalGit().resolve(str(work), "HEAD"))

    assert {"a.yaml": b"a: 1\n"} == asyncio.run(LocalGit().files(str(work), commit, "."))


def test_what_is_too_large_for_manifests_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any of it is read."""
    monkeypatch.setattr(git, "MAX_BYTES", 10)
    repository = RealRepository(tmp_path / "large.git")
    commit = repository.commit(FILES)

    with pytest.raises(GitError, match=r"^deploy: 11 bytes of files are more than the 10 that are read$"):
        asyncio.run(LocalGit().files(repository.url, commit, "deploy"))


def test_an_object_that_is_missing_is_told(tmp_path: Path) -> None:
    """Nothing else is taken for its content."""
    repository = RealRepository(tmp_path / "damaged.git")
    commit = repository.commit(FILES)
    blob = subprocess.run(
        ["git", "-C", repository.url, "rev-parse", f"{commit}:deploy/a.yaml"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (tmp_path / "damaged.git" / "objects" / blob[:2] / blob[2:]).unlink()

    with pytest.raises(GitError, match=rf"^a\.yaml: object {blob} is missing$"):
        asyncio.run(LocalGit().files(repository.url, commit, "deploy"))
